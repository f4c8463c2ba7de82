import { InputError, UsageError } from '../errors.ts';
import { identifierProblem } from '../yaml/schema.ts';
import { ScheduleError } from './cron-field.ts';
import { type AgentInput, type AgentOptions, parseJobAgent } from './job-agent.ts';
import { type CronSchedule, parseExpression } from './schedule.ts';
import { parseTimezone } from './time-zone.ts';

/** The options that describe one job. */
export interface JobOptions extends AgentOptions {
  readonly name?: string | undefined;
  readonly schedule?: string | undefined;
  readonly timezone?: string | undefined;
}

/** One job as typed on the command line, without its instructions. */
export interface TypedJob extends AgentInput {
  readonly name: string;
  readonly schedule: CronSchedule;
}

/** Names the option with the invalid schedule. */
function toOptionError(error: ScheduleError): UsageError {
  const option = error.field === 'timezone' ? 'timezone' : 'schedule';
  const message = error.field === option ? error.detail : error.message;
  const hint = error.hint && error.hint.charAt(0).toUpperCase() + error.hint.slice(1);
  return new UsageError(`--${option}: ${message}`, { hint, cause: error });
}

function parseSchedule({ schedule = '', timezone = 'UTC' }: JobOptions): CronSchedule {
  try {
    return { ...parseExpression(schedule), timezone: parseTimezone(timezone) };
  } catch (error) {
    if (error instanceof ScheduleError) throw toOptionError(error);
    throw error;
  }
}

function parseName({ name = '' }: JobOptions): string {
  if (name.trim() === '') throw new UsageError('--name is empty.');
  const problem = identifierProblem(name);
  if (problem === undefined) return name;
  throw new UsageError(`--name ${problem}.`);
}

/** Reads the options that describe one job. @throws UsageError that names the option and what it accepts */
export function parseJobOptions(options: JobOptions): TypedJob {
  return { ...parseJobAgent(options), name: parseName(options), schedule: parseSchedule(options) };
}

/** @throws InputError if the instructions are blank */
export function requireInstructions(text: string): string {
  if (text.trim() !== '') return text;
  throw new InputError('--instructions is blank.', {
    hint: 'Nothing was sent. Describe what the agent does on each run.',
  });
}
