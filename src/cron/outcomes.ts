import { isJsonObject } from '../contract/json.ts';
import {
  DuplicateError,
  InterruptedError,
  OutcomeUnknownError,
  PartnerctlError,
  unrecordedError,
  withHint,
} from '../errors.ts';
import type { CronDifference, CronJob } from './job.ts';
import type { LookAlike } from './look-alikes.ts';
import { type CronSchedule, completeSchedule, type ScheduleParts } from './schedule.ts';

export interface JobOutcome {
  /**
   * `adopted`: the service has the job, but the state had no record of it. `unknown`: it may have been created.
   * `skipped`: nothing was sent, because an earlier failure or an interruption ended the run.
   */
  readonly status: 'created' | 'exists' | 'adopted' | 'blocked' | 'unknown' | 'failed' | 'planned' | 'skipped';
  readonly cron_job_id: string | null;
  readonly differences: readonly CronDifference[];
  /** Whether a request of this run created it, although the response was lost. */
  readonly isOwn?: true;
  /** Null if not all of an existing job's schedule is known, so that it was not compared. */
  readonly schedule?: null;
  /** The schedule of an existing job that differs, if all of it is known. */
  readonly presentSchedule?: CronSchedule | undefined;
  readonly error: unknown;
}

/** What the errors name. */
export interface Subject {
  readonly job: Pick<CronJob, 'agent_id' | 'name'>;
  /** The name of its agent, if it is known. */
  readonly agent?: string | undefined;
  readonly key: string;
  readonly command: (words: readonly string[]) => string;
  /** The flag that consents to a job beside another one; by default without a value. */
  readonly consent?: string | undefined;
}

export function outcome(status: JobOutcome['status'], more: Partial<JobOutcome> = {}): JobOutcome {
  return { status, cron_job_id: null, differences: [], error: undefined, ...more };
}

/** @param schedule what is known of that of an existing job */
export function comparison(schedule: ScheduleParts | undefined): Pick<JobOutcome, 'schedule'> {
  return completeSchedule(schedule) ? {} : { schedule: null };
}

function quote(value: string | undefined): string {
  if (value === undefined) return '(only its hash is recorded)';
  return JSON.stringify(value.length > 200 ? `${value.slice(0, 200)}…` : value);
}

function describeDifference({ field, before, after }: CronDifference): string {
  const verb = field === 'instructions' ? 'differ' : 'differs';
  return `${field} ${verb}: the service has ${quote(before)}, the new job has ${quote(after)}`;
}

function describeJob({ job: { name, agent_id }, agent }: Subject): string {
  return `Job ${JSON.stringify(name)} of agent ${agent === undefined ? agent_id : JSON.stringify(agent)}`;
}

function adoptLine({ job, command }: Subject, id: string, ...more: readonly string[]): string {
  return command(['cron', 'adopt', id, '--agent', job.agent_id, '--name', job.name, ...more]);
}

type Reason = 'same' | 'different' | 'gone' | 'several' | 'ambiguous' | 'in_progress' | 'edited';

type Evidence = Partial<Pick<JobOutcome, 'cron_job_id' | 'differences' | 'schedule' | 'presentSchedule'>> & {
  readonly candidates?: readonly string[];
  readonly lookAlikes?: readonly LookAlike[];
  /** When another process reserved the job, by its clock. */
  readonly since?: string;
  /** How long this process looked for the job in the list. */
  readonly lookedMs?: number;
};

function describeLookAlike({ cron_job_id, name, hasSameText }: LookAlike): string {
  const what = hasSameText ? 'it has the same instructions' : 'the names differ only in case or spaces';
  const exists = cron_job_id === null ? 'may exist' : `exists (${cron_job_id})`;
  return `${JSON.stringify(name)} of this agent ${exists}: ${what}.`;
}

/** A job that is not created, because of another one. */
export function blocked(subject: Subject, reason: Reason, evidence: Evidence = {}): JobOutcome {
  const { key, command, consent = '--create-beside' } = subject;
  const { cron_job_id = null, differences = [], schedule, presentSchedule, lookAlikes = [] } = evidence;
  const { since, lookedMs = 0 } = evidence;
  const { candidates = lookAlikes.flatMap(({ cron_job_id: id }) => id ?? []) } = evidence;
  const job = describeJob(subject);
  const forget = command(['cron', 'forget', key]);
  const looked = lookedMs < 1_000 ? 'does not show it' : `did not show it for ${Math.round(lookedMs / 1_000)} s`;
  const explanations: Readonly<Record<Reason, readonly [message: string, hint: string]>> = {
    same: [`${job} already exists: ${cron_job_id}.`, 'Add --ensure to accept a job that already exists.'],
    different: [
      `${job} already exists with other content: ${cron_job_id}.`,
      `The API cannot change or delete a job. Give the new one another name. Or have the old one deleted in the organization's admin surface or by support, then run: ${forget}`,
    ],
    gone: [
      `${job} is recorded as ${cron_job_id}, but the list ${looked}.`,
      `A new job may take a while to be listed: run it again first. If it was deleted at the service, let it be created again: ${forget}`,
    ],
    several: [
      `${job} exists more than once: ${candidates.join(', ')}.`,
      `Say which one is yours: ${adoptLine(subject, '<cron_job_id>')}`,
    ],
    ambiguous: [
      `${job} may already exist: the list does not say which agent ${candidates.join(', ')} belongs to.`,
      `If it is this job, run: ${adoptLine(subject, candidates[0] ?? '')}\nIf it is of another agent, run the same with that agent.\nIf the list has its agent_id under another name: ${command(['contract', 'set', 'cron_job.agent_id', '<path>'])}`,
    ],
    in_progress: [
      `${job} was reserved by another run at ${since}, and no outcome is recorded.`,
      `Run it again later, or add --ensure to wait for its outcome. If that run was killed: ${command(['cron', 'reconcile'])}`,
    ],
    edited: [
      `${job} seems to be ${lookAlikes.map(({ name }) => JSON.stringify(name)).join(' or ')}, edited.`,
      `The API cannot rename, change, or delete a job: both would run. Use the present name, or have the old job deleted in the organization's admin surface or by support. To have both: ${consent}`,
    ],
  };
  const [message, hint] = explanations[reason];
  const why = [...differences.map(describeDifference), ...lookAlikes.map(describeLookAlike)].join('\n') || undefined;
  const details = { cron_job_id, key, reason, differences, candidates };
  const error = new DuplicateError(message, { why, hint, details });
  const present = { ...(schedule === null && { schedule }), presentSchedule };
  return outcome('blocked', { cron_job_id, differences, ...present, error });
}

/** A job that may have been created. @param error the failure of this command's POST, if it sent one */
export function unknown(subject: Subject, since: string, error?: unknown): JobOutcome {
  const { key, command } = subject;
  const info = error instanceof PartnerctlError ? error.info : undefined;
  const earlier = `An earlier run reserved it at ${since}, and no outcome is recorded.`;
  const why = info ? (info.why ?? String(error)) : earlier;
  const ids = isJsonObject(info?.details) && isJsonObject(info.details.ids) ? Object.entries(info.details.ids) : [];
  const own = ids.filter(([path]) => /(?:^|\.)(?:\w*job_?)?id$/i.test(path));
  const adopt = own.map(([, id]) => `\nIf its id is ${id}: ${adoptLine(subject, String(id))}`);
  const unsettled = new OutcomeUnknownError(`${describeJob(subject)} may have been created.`, {
    ...info,
    why: `Its key is ${key}.\n${why}`,
    hint: `Find out whether it exists: ${command(['cron', 'reconcile'])}${adopt.join('')}\nUntil then, no job of this name is created.`,
    details: { key },
    cause: error,
  });
  return outcome('unknown', { error: unsettled });
}

/** A job that was created. @param why the failure of the state, if only the message knows its id */
export function created(subject: Subject, cron_job_id: string, why: unknown): JobOutcome {
  if (why === undefined) return outcome('created', { cron_job_id });
  const error = unrecordedError(`The job was created as ${cron_job_id}, but this could not be recorded.`, why, {
    hint: `When the state can be written again, record the job: ${adoptLine(subject, cron_job_id, '--yes')}\nUntil then, no job of this name is created.`,
    details: { cron_job_id, key: subject.key },
  });
  return outcome('created', { cron_job_id, error });
}

/** A job that was not created: it failed, or the run was interrupted before it. */
export function failed({ key }: Subject, error: PartnerctlError): JobOutcome {
  if (error instanceof InterruptedError) return outcome('skipped');
  return outcome('failed', { error: withHint(error, { hint: 'The job was not created.', details: { key } }) });
}
