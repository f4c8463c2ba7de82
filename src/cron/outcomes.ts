import {
  DuplicateError,
  LocalError,
  OutcomeUnknownError,
  PartnerctlError,
  StateUnavailableError,
  withHint,
} from '../errors.ts';
import type { CronDifference, CronJob } from './job.ts';

/** The outcome of creating a job. */
export interface JobOutcome {
  /**
   * `adopted`: the service has the job, but the state had no record of it. `unknown`: it may have been created.
   * `skipped`: nothing was sent, because an earlier failure or an interruption ended the run.
   */
  readonly status: 'created' | 'exists' | 'adopted' | 'blocked' | 'unknown' | 'failed' | 'planned' | 'skipped';
  readonly cron_job_id: string | null;
  readonly differences: readonly CronDifference[];
  /** Whether the list does not show all of an existing job's schedule, so that it was not compared. */
  readonly isScheduleUnknown: boolean;
  readonly error: unknown;
}

/** What the errors name. */
export interface Subject {
  readonly job: Pick<CronJob, 'agent_id' | 'name'>;
  readonly key: string;
  /** Returns the command line to type. */
  readonly command: (words: readonly string[]) => string;
}

export function outcome(status: JobOutcome['status'], more: Partial<JobOutcome> = {}): JobOutcome {
  return { status, cron_job_id: null, differences: [], isScheduleUnknown: false, error: undefined, ...more };
}

function quote(value: string | undefined): string {
  if (value === undefined) return '(only its hash is recorded)';
  return JSON.stringify(value.length > 200 ? `${value.slice(0, 200)}…` : value);
}

function describeDifference({ field, before, after }: CronDifference): string {
  const verb = field === 'instructions' ? 'differ' : 'differs';
  return `${field} ${verb}: the service has ${quote(before)}, the new job has ${quote(after)}`;
}

function describeJob({ job: { name, agent_id } }: Subject): string {
  return `Job ${JSON.stringify(name)} of agent ${agent_id}`;
}

function adoptLine({ job, command }: Subject, id: string, ...more: readonly string[]): string {
  return command(['cron', 'adopt', id, '--agent', job.agent_id, '--name', job.name, ...more]);
}

/** Why a job is not created. */
export type Block =
  /** It exists. */
  | { readonly reason: 'same'; readonly cron_job_id: string; readonly isScheduleUnknown: boolean }
  /** It exists with other content. */
  | { readonly reason: 'different'; readonly cron_job_id: string; readonly differences: readonly CronDifference[] }
  /** It was created, and the service no longer lists it. */
  | { readonly reason: 'gone'; readonly cron_job_id: string }
  /** The service has more than one with this agent and name. */
  | { readonly reason: 'several'; readonly candidates: readonly string[] }
  /** The service has one with this name whose agent cannot be read, and that the state has no record of. */
  | { readonly reason: 'ambiguous'; readonly candidates: readonly string[] }
  /** Another process is creating it. */
  | { readonly reason: 'in_progress' };

function explainBlock(
  subject: Subject,
  block: Block,
): { readonly message: string; readonly why?: string; readonly hint: string } {
  const { key, command } = subject;
  const job = describeJob(subject);
  const forget = command(['cron', 'forget', key]);
  switch (block.reason) {
    case 'same':
      return {
        message: `${job} already exists: ${block.cron_job_id}.`,
        hint: 'Add --ensure to accept a job that already exists.',
      };
    case 'different':
      return {
        message: `${job} already exists with other content: ${block.cron_job_id}.`,
        why: block.differences.map(describeDifference).join('\n'),
        hint: `The API cannot change or delete a job. Give the new one another name. Or have the old one deleted in the organization's admin surface or by support, then run: ${forget}`,
      };
    case 'gone':
      return {
        message: `${job} was created as ${block.cron_job_id}, but the service no longer lists it.`,
        hint: `If it was not deleted on purpose, let it be created again: ${forget}`,
      };
    case 'several':
      return {
        message: `${job} exists more than once: ${block.candidates.join(', ')}.`,
        hint: `Say which one is yours: ${adoptLine(subject, '<cron_job_id>')}`,
      };
    case 'ambiguous':
      return {
        message: `${job} may already exist: the list does not say which agent ${block.candidates.join(', ')} belongs to.`,
        hint: `If it is this job, or, with its agent, if it is another's: ${adoptLine(subject, block.candidates[0] ?? '')}\nIf the list has its agent_id under another name: ${command(['contract', 'set', 'cron_job.agent_id', '<path>'])}`,
      };
    case 'in_progress':
      return {
        message: `${job} is being created by another process.`,
        hint: `Run it again later, or add --ensure to wait for its outcome. If that run was killed: ${command(['cron', 'reconcile'])}`,
      };
  }
}

export function blocked(subject: Subject, block: Block): JobOutcome {
  const { message, ...info } = explainBlock(subject, block);
  const known = { cron_job_id: null, differences: [], candidates: [], ...block };
  const { cron_job_id, differences, candidates, reason } = known;
  const details = { cron_job_id, key: subject.key, reason, differences, candidates };
  const isScheduleUnknown = block.reason === 'same' && block.isScheduleUnknown;
  const error = new DuplicateError(message, { ...info, details });
  return outcome('blocked', { cron_job_id, differences, isScheduleUnknown, error });
}

/**
 * A job that may have been created.
 * @param since when it was reserved
 * @param error the failure of this command's POST, if it sent one
 */
export function unknown(subject: Subject, since: string, error?: unknown): JobOutcome {
  const { key, command } = subject;
  const info = error instanceof PartnerctlError ? error.info : undefined;
  const why = info
    ? (info.why ?? String(error))
    : `An earlier run reserved it at ${since}, and no outcome is recorded.`;
  return outcome('unknown', {
    error: new OutcomeUnknownError(`${describeJob(subject)} may have been created.`, {
      ...info,
      why: `${why}\nIts key is ${key}.`,
      hint: `Find out whether it exists: ${command(['cron', 'reconcile'])}\nUntil then, no job of this name is created.`,
      details: { key, ...(info && { cause: info.details ?? null }) },
      cause: error,
    }),
  });
}

/** A job that was created but not recorded: only this message knows its id. @param why the failure of the state */
export function unrecorded(subject: Subject, cron_job_id: string, why: unknown): JobOutcome {
  const info = {
    why: why instanceof PartnerctlError ? [why.message, why.info.why].filter(Boolean).join('\n') : String(why),
    hint: `When the state can be written again, record the job: ${adoptLine(subject, cron_job_id, '--yes')}\nUntil then, no job of this name is created.`,
    details: { cron_job_id, key: subject.key },
    cause: why,
  };
  const Unrecorded = why instanceof StateUnavailableError ? OutcomeUnknownError : LocalError;
  const error = new Unrecorded(`The job was created as ${cron_job_id}, but this could not be recorded.`, info);
  return outcome('created', { cron_job_id, error });
}

/** A job that was not created. */
export function failed({ key }: Subject, error: PartnerctlError): JobOutcome {
  return outcome('failed', { error: withHint(error, { hint: 'The job was not created.', details: { key } }) });
}
