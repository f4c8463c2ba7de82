import {
  DuplicateError,
  LocalError,
  OutcomeUnknownError,
  PartnerctlError,
  StateUnavailableError,
  withHint,
} from '../errors.ts';
import type { CronContext } from './context.ts';
import type { CronDifference, CronJob } from './job.ts';

interface Keyed {
  readonly key: string;
}

/** A job that exists. `isScheduleUnknown`: the list does not show all of its schedule, so that it was not compared. */
interface Existing extends Keyed {
  readonly cron_job_id: string;
  readonly isScheduleUnknown: boolean;
}

/** Why a job is not created. */
interface Blocked extends Keyed {
  readonly status: 'blocked';
  readonly cron_job_id: string | null;
  /**
   * `same`: it exists. `different`: it exists with other content. `gone`: it was created, and the service no longer lists
   * it. `several`: the service has more than one with this agent and name. `in_progress`: another process is creating it.
   * `ambiguous`: the service has one with this name, its agent cannot be read, and the state has no record of it.
   */
  readonly why: 'same' | 'different' | 'gone' | 'several' | 'in_progress' | 'ambiguous';
  readonly isScheduleUnknown?: boolean;
  readonly differences?: readonly CronDifference[];
  readonly candidates?: readonly string[];
}

/** The outcome of creating a job. */
export type CreateOutcome =
  /** `unrecorded`: why it could not be recorded in the state. */
  | (Keyed & { readonly status: 'created'; readonly cron_job_id: string; readonly unrecorded?: unknown })
  | (Existing & { readonly status: 'exists' })
  /** The service has the job, but the state had no record of it. */
  | (Existing & { readonly status: 'adopted' })
  | Blocked
  /** The job may have been created; `error` is the failure of this command's POST, if it sent one. */
  | (Keyed & { readonly status: 'unknown'; readonly since: string; readonly error?: unknown })
  /** The job was not created. `isBlocked`: that could not be recorded, so that its name is blocked. */
  | (Keyed & { readonly status: 'failed'; readonly error: unknown; readonly isBlocked: boolean })
  /** Nothing was sent, because an earlier failure or an interruption ended the run. */
  | (Keyed & { readonly status: 'skipped' | 'planned' });

/** What error messages name. */
export interface ErrorContext extends Pick<CronContext, 'command'> {
  readonly job: Pick<CronJob, 'agent_id' | 'name'>;
}

const MAX_QUOTED_LENGTH = 200;

function quote(value: string | undefined): string {
  if (value === undefined) return '(only its hash is recorded)';
  return JSON.stringify(value.length > MAX_QUOTED_LENGTH ? `${value.slice(0, MAX_QUOTED_LENGTH)}…` : value);
}

function describeDifference({ field, before, after }: CronDifference): string {
  const verb = field === 'instructions' ? 'differ' : 'differs';
  return `${field} ${verb}: the service has ${quote(before)}, the new job has ${quote(after)}`;
}

function describeJob({ name, agent_id }: ErrorContext['job']): string {
  return `Job ${JSON.stringify(name)} of agent ${agent_id}`;
}

function adoptLine(id: string, { job, command }: ErrorContext, ...more: readonly string[]): string {
  return command(['cron', 'adopt', id, '--agent', job.agent_id, '--name', job.name, ...more]);
}

/** What the error about a block says. */
function explainBlocked(
  { key, cron_job_id, why, differences = [], candidates = [] }: Blocked,
  context: ErrorContext,
): { readonly message: string; readonly why?: string; readonly hint: string } {
  const { command } = context;
  const subject = describeJob(context.job);
  const forget = command(['cron', 'forget', key]);
  const ids = candidates.join(', ');
  switch (why) {
    case 'same':
      return {
        message: `${subject} already exists: ${cron_job_id}.`,
        hint: 'Add --ensure to accept a job that already exists.',
      };
    case 'different':
      return {
        message: `${subject} already exists with other content${cron_job_id ? `: ${cron_job_id}` : ''}.`,
        why: differences.map(describeDifference).join('\n'),
        hint: `The API cannot change or delete a job. Give the new one another name. Or have the old one deleted in the organization's admin surface or by support, then run: ${forget}`,
      };
    case 'gone':
      return {
        message: `${subject} was created as ${cron_job_id}, but the service no longer lists it.`,
        hint: `If it was not deleted on purpose, let it be created again: ${forget}`,
      };
    case 'several':
      return {
        message: `${subject} exists more than once: ${ids}.`,
        hint: `Say which one is yours: ${adoptLine('<cron_job_id>', context)}`,
      };
    case 'ambiguous':
      return {
        message: `${subject} may already exist: the list does not say which agent ${ids} belongs to.`,
        hint: `If it is this job, or, with its agent, if it is another's: ${adoptLine(candidates[0] ?? '', context)}\nIf the list has its agent_id under another name: ${command(['contract', 'set', 'cron_job.agent_id', '<path>'])}`,
      };
    case 'in_progress':
      return {
        message: `${subject} is being created by another process.`,
        hint: `Run it again later, or add --ensure to wait for its outcome. If that run was killed: ${command(['cron', 'reconcile'])}`,
      };
  }
}

function blockedError(outcome: Blocked, context: ErrorContext): DuplicateError {
  const { message, ...info } = explainBlocked(outcome, context);
  const { cron_job_id, key, why: reason, differences = [], candidates = [] } = outcome;
  return new DuplicateError(message, { ...info, details: { cron_job_id, key, reason, differences, candidates } });
}

function unknownError(outcome: Extract<CreateOutcome, { status: 'unknown' }>, { job, command }: ErrorContext) {
  const { key, since, error } = outcome;
  const info = error instanceof PartnerctlError ? error.info : undefined;
  const why = info
    ? (info.why ?? String(error))
    : `An earlier run reserved it at ${since}, and no outcome is recorded.`;
  return new OutcomeUnknownError(`${describeJob(job)} may have been created.`, {
    ...info,
    why: `${why}\nIts key is ${key}.`,
    hint: `Find out whether it exists: ${command(['cron', 'reconcile'])}\nUntil then, no job of this name is created.`,
    details: { key, ...(info && { cause: info.details ?? null }) },
    cause: error,
  });
}

/** The job exists, and only this message knows it. */
function unrecordedError(outcome: Extract<CreateOutcome, { status: 'created' }>, context: ErrorContext) {
  const { unrecorded: error, cron_job_id, key } = outcome;
  if (error === undefined) return undefined;
  const why = error instanceof PartnerctlError ? [error.message, error.info.why] : [String(error)];
  const message = `The job was created as ${cron_job_id}, but this could not be recorded.`;
  const info = {
    why: why.filter((line) => line !== undefined).join('\n'),
    hint: `When the state can be written again, record the job: ${adoptLine(cron_job_id, context, '--yes')}\nUntil then, no job of this name is created.`,
    details: { cron_job_id, key },
    cause: error,
  };
  return error instanceof StateUnavailableError
    ? new OutcomeUnknownError(message, info)
    : new LocalError(message, info);
}

function failedError(
  { key, error, isBlocked }: Extract<CreateOutcome, { status: 'failed' }>,
  { command }: ErrorContext,
): unknown {
  if (!(error instanceof PartnerctlError)) return error;
  const hint = isBlocked
    ? `The job was not created, but that could not be recorded, so its name is blocked until you run: ${command(['cron', 'reconcile'])}`
    : 'The job was not created.';
  return withHint(error, { hint, details: { key } });
}

/** Returns the error to report for an outcome; undefined if there is none. */
export function outcomeError(outcome: CreateOutcome, context: ErrorContext): unknown {
  switch (outcome.status) {
    case 'blocked':
      return blockedError(outcome, context);
    case 'unknown':
      return unknownError(outcome, context);
    case 'failed':
      return failedError(outcome, context);
    case 'created':
      return unrecordedError(outcome, context);
    default:
      return undefined;
  }
}
