import type { AgentInput } from '../../../cli/agent-args.ts';
import type { Args } from '../../../cli/command.ts';
import { parseTextArgument, type TextSource } from '../../../cli/input.ts';
import { ScheduleError } from '../../../cron/cron-field.ts';
import { type CronSchedule, parseExpression } from '../../../cron/schedule.ts';
import { parseTimezone } from '../../../cron/time-zone.ts';
import { UsageError } from '../../../errors.ts';
import { identifierProblem } from '../../../yaml/schema.ts';
import { parseJobAgent } from './job-agent.ts';

/** One job as typed on the command line. */
export interface JobInput extends AgentInput {
  readonly name: string;
  readonly instructions: TextSource;
  readonly schedule: CronSchedule;
}

/** Names the flag with the invalid schedule. */
function toFlagError(error: ScheduleError): UsageError {
  const flag = error.field === 'timezone' ? 'timezone' : 'schedule';
  const message = error.field === flag ? error.detail : error.message;
  const hint = error.hint && error.hint.charAt(0).toUpperCase() + error.hint.slice(1);
  return new UsageError(`--${flag}: ${message}`, { hint, cause: error });
}

function parseSchedule(args: Args): CronSchedule {
  try {
    return { ...parseExpression(args.required('schedule')), timezone: parseTimezone(args.value('timezone') ?? 'UTC') };
  } catch (error) {
    if (error instanceof ScheduleError) throw toFlagError(error);
    throw error;
  }
}

/** Returns a flag that must have a value. @throws UsageError if it is missing or blank */
function requiredText(args: Args, flag: string): string {
  const value = args.required(flag);
  if (value.trim()) return value;
  throw new UsageError(`--${flag} is empty.`);
}

function parseName(args: Args): string {
  const name = requiredText(args, 'name');
  const problem = identifierProblem(name);
  if (problem === undefined) return name;
  throw new UsageError(`--name ${problem}.`);
}

/** Reads the flags that describe one job. @throws UsageError that names the flag and what it accepts */
export function parseJobInput(args: Args): JobInput {
  return {
    ...parseJobAgent(args),
    name: parseName(args),
    instructions: parseTextArgument('--instructions', requiredText(args, 'instructions')),
    schedule: parseSchedule(args),
  };
}
