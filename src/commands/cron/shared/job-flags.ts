import type { AgentInput } from '../../../cli/agent-args.ts';
import type { Args } from '../../../cli/command.ts';
import type { Context } from '../../../cli/context.ts';
import { parseTextArgument, readText, refuseTokenOnStdin, type TextSource } from '../../../cli/input.ts';
import { ScheduleError } from '../../../cron/cron-field.ts';
import type { WantedJob } from '../../../cron/job.ts';
import { type CronSchedule, parseExpression } from '../../../cron/schedule.ts';
import { parseTimezone } from '../../../cron/time-zone.ts';
import { InputError, UsageError } from '../../../errors.ts';
import { identifierProblem } from '../../../yaml/schema.ts';
import { AgentFinder, parseJobAgent } from './job-agent.ts';

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

/** The job that flags describe. @throws InputError, UsageError; NotFoundError if its agent is not found */
export async function readJobFromFlags(
  context: Context,
  { name, instructions, schedule, agent, space }: JobInput,
): Promise<WantedJob> {
  if (instructions.from === 'stdin') refuseTokenOnStdin(context.flags, 'input');
  const text = await readText(instructions, 'The instructions', () => context.io.stdin, context.abortSignal);
  if (text.trim() === '') {
    throw new InputError('--instructions is blank.', {
      hint: 'Nothing was sent. Describe what the agent does on each run.',
    });
  }
  const agent_id =
    agent.by === 'id' ? agent.value : await new AgentFinder(context, await context.http()).find({ agent, space });
  return { index: 0, source: undefined, job: { agent_id, name, instructions: text, schedule } };
}
