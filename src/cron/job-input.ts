import type { AgentInput } from '../cli/agent-args.ts';
import type { Args } from '../cli/command.ts';
import { parseTextArgument, type TextSource } from '../cli/input.ts';
import { UsageError } from '../errors.ts';
import { identifierProblem } from '../yaml/identifier-problem.ts';
import { parseJobAgent } from './job-agent.ts';
import { type CronSchedule, parseExpression, parseFields } from './schedule.ts';
import { ScheduleError } from './schedule-error.ts';
import { parseTimezone } from './time-zone.ts';

/** One job as typed on the command line. */
export interface JobInput extends AgentInput {
  readonly name: string;
  readonly instructions: TextSource;
  readonly schedule: CronSchedule;
}

const FIELD_FLAGS = ['minute', 'hour', 'day-of-week'] as const;

function parseScheduleFlags(args: Args) {
  const expression = args.value('schedule');
  const fieldFlags = FIELD_FLAGS.filter((flag) => args.value(flag) !== undefined);
  if (expression !== undefined && fieldFlags.length > 0) {
    throw new UsageError(`--schedule and --${fieldFlags[0]} cannot be combined.`);
  }
  if (expression !== undefined) return parseExpression(expression);
  return parseFields({
    minute: args.value('minute'),
    hour: args.value('hour'),
    day_of_week: args.value('day-of-week'),
  });
}

/** Names the flag with the invalid schedule. */
function toFlagError(error: ScheduleError, args: Args): UsageError {
  const inExpression = args.value('schedule') !== undefined && error.field !== 'timezone';
  const flag = inExpression ? 'schedule' : error.field.replaceAll('_', '-');
  const message = inExpression && error.field !== 'schedule' ? error.message : error.detail;
  const hint = error.hint && error.hint.charAt(0).toUpperCase() + error.hint.slice(1);
  return new UsageError(`--${flag}: ${message}`, { hint, cause: error });
}

function parseSchedule(args: Args): CronSchedule {
  try {
    return { ...parseScheduleFlags(args), timezone: parseTimezone(args.value('timezone') ?? 'UTC') };
  } catch (error) {
    if (error instanceof ScheduleError) throw toFlagError(error, args);
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
