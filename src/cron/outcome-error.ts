import { shellCommand } from '../cli/shell-command.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import { DuplicateError, OutcomeUnknownError, PartnerctlError, withHint } from '../errors.ts';
import { unrecordedError } from '../state-old/unpublished.ts';
import type { Blocked, CreateOutcome } from './create-outcome.ts';
import type { CronDifference, CronJob } from './job.ts';

const MAX_QUOTED_LENGTH = 200;

function quote(value: string | undefined): string {
  if (value === undefined) return '(unknown)';
  return JSON.stringify(value.length > MAX_QUOTED_LENGTH ? `${value.slice(0, MAX_QUOTED_LENGTH)}…` : value);
}

function describeDifference({ field, before, after }: CronDifference): string {
  if (field === 'instructions' && before === undefined) {
    return `instructions differ from the recorded ones (only their hash is recorded); the new job has ${quote(after)}`;
  }
  const verb = field === 'instructions' ? 'differ' : 'differs';
  return `${field} ${verb}: the service has ${quote(before)}, the new job has ${quote(after)}`;
}

/** What error messages name: the job, and the flags to repeat in suggested commands. */
interface ErrorContext {
  readonly job: Pick<CronJob, 'agent_id' | 'name'>;
  readonly flags: GlobalFlags;
  /** Whether other machines use the state. */
  readonly isShared: boolean;
}

function describeJob({ name, agent_id }: ErrorContext['job']): string {
  return `Job ${JSON.stringify(name)} of agent ${agent_id}`;
}

function adoptCommand(cronJobId: string, agentId: string, { job, flags }: ErrorContext): string {
  return shellCommand(['cron', 'adopt', cronJobId, '--agent', agentId, '--name', job.name], flags);
}

function blockedError(outcome: Blocked & { readonly key: string }, context: ErrorContext): DuplicateError {
  const { key, cron_job_id, why, since, gap, differences = [], candidates = [] } = outcome;
  const { job, flags } = context;
  const subject = describeJob(job);
  const forget = shellCommand(['cron', 'forget', key], flags);
  const details = { cron_job_id, key, reason: why, differences, candidates };
  switch (why) {
    case 'same':
      return new DuplicateError(`${subject} already exists: ${cron_job_id}.`, {
        why: `It was recorded at ${since}${gap ? '' : ' with the same content'}.`,
        hint: 'Add --ensure to accept a job that already exists.',
        details,
      });
    case 'different':
      return new DuplicateError(
        `${subject} already exists with other content${cron_job_id ? `: ${cron_job_id}` : ''}.`,
        {
          why: differences.map(describeDifference).join('\n'),
          hint: `The service cannot change a job. Give the new one another name. Or delete the old one at the service, then run: ${forget}`,
          details,
        },
      );
    case 'gone':
      return new DuplicateError(`${subject} was created as ${cron_job_id}, but the service no longer lists it.`, {
        why: `It was recorded at ${since}. It is not created again on its own: it may have been deleted on purpose.`,
        hint: `To let it be created again: ${forget}`,
        details,
      });
    case 'several':
      return new DuplicateError(
        `The service has more than one job ${JSON.stringify(job.name)} of agent ${job.agent_id}.`,
        {
          why: candidates.join(', '),
          hint: `Say which one is yours: ${adoptCommand('<cron_job_id>', job.agent_id, context)}`,
          details,
        },
      );
    case 'ambiguous': {
      const [id = ''] = candidates;
      return new DuplicateError(`${subject} may already exist: the service has ${candidates.join(', ')}.`, {
        why: 'It has the same name, the list does not say which agent it belongs to, and the state does not know it.',
        hint: `If it is this job: ${adoptCommand(id, job.agent_id, context)}\nIf it belongs to another agent: ${adoptCommand(id, '<agent_id>', context)}\nIf the list has its agent_id under another name: ${shellCommand(['contract', 'set', 'cron_job.agent_id', '<path>'], flags)}`,
        details,
      });
    }
    case 'in_progress':
      return new DuplicateError(`${subject} is being created by another process.`, {
        why: `It reserved the job at ${since}.`,
        hint: 'Run it again later, or add --ensure to wait for its outcome.',
        details,
      });
  }
}

function unknownError(outcome: Extract<CreateOutcome, { status: 'unknown' }>, { job, flags }: ErrorContext) {
  const { key, since, error } = outcome;
  const reconcile = shellCommand(['cron', 'reconcile'], flags);
  const hint = `Find out whether it exists: ${reconcile}\nUntil then, no job of this name is created.`;
  if (error instanceof PartnerctlError) {
    return new OutcomeUnknownError(`${describeJob(job)} may have been created.`, {
      ...error.info,
      why: `${error.info.why ?? error.message}\nIts key is ${key}.`,
      hint,
      details: { key, cause: error.info.details ?? null },
      cause: error,
    });
  }
  return new OutcomeUnknownError(`${describeJob(job)} may have been created by an earlier run.`, {
    why: `It was reserved at ${since}, and the outcome was not recorded or is unknown. Its key is ${key}.`,
    hint,
    details: { key },
    cause: error,
  });
}

function unrecordedJobError(outcome: Extract<CreateOutcome, { status: 'created' }>, context: ErrorContext) {
  const { job, flags, isShared } = context;
  const { unrecorded, cron_job_id, key } = outcome;
  if (!unrecorded) return undefined;
  const { error, recoveryPath } = unrecorded;
  const adopt = shellCommand(
    ['cron', 'adopt', cron_job_id, '--agent', job.agent_id, '--name', job.name, '--yes'],
    flags,
  );
  const reconcile = shellCommand(['cron', 'reconcile'], flags);
  const replay =
    recoveryPath === undefined
      ? ''
      : `\nThe record is kept in ${recoveryPath}. If that file is in the directory of the state file, this command also adds it: ${reconcile}`;
  return unrecordedError({
    created: `The job was created as ${cron_job_id}`,
    error,
    recoveryPath,
    isShared,
    hint: `When the state can be written again, record the job: ${adopt}${replay}`,
    details: { cron_job_id, key },
  });
}

/** Whether a service that allows a name once refused a job because it has one. A 409 can also mean another conflict. */
function saysJobExists({ info }: PartnerctlError): boolean {
  const text = `${info.code ?? ''} ${info.why ?? ''}`.replaceAll('_', ' ');
  return info.status === 409 && /exists|duplicate|already|taken|unique/i.test(text) && !/not exist/i.test(text);
}

function refusedAsDuplicate(error: PartnerctlError, key: string, context: ErrorContext): DuplicateError {
  const { job, flags } = context;
  const list = shellCommand(['cron', 'list'], flags);
  return new DuplicateError(`The service refused ${describeJob(job)}, because it has such a job (409).`, {
    ...error.info,
    hint: `The job was not created. Look for the existing one: ${list}\nIf it is there: ${adoptCommand('<cron_job_id>', job.agent_id, context)}`,
    details: { key, reason: 'refused', cause: error.info.details ?? null },
    cause: error,
  });
}

function failedError(
  { key, error, isReleased }: Extract<CreateOutcome, { status: 'failed' }>,
  context: ErrorContext,
): unknown {
  const { flags } = context;
  if (!(error instanceof PartnerctlError)) return error;
  if (isReleased && saysJobExists(error)) return refusedAsDuplicate(error, key, context);
  const hint = isReleased
    ? 'The job was not created.'
    : `The job was not created, but that could not be recorded, so its name is blocked until you run: ${shellCommand(['cron', 'reconcile'], flags)}`;
  return withHint(error, { hint, details: { key } });
}

/** The error to report for the outcome of a creation; undefined when there is none. */
export function outcomeError(outcome: CreateOutcome, context: ErrorContext): unknown {
  switch (outcome.status) {
    case 'blocked':
      return blockedError(outcome, context);
    case 'unknown':
      return unknownError(outcome, context);
    case 'failed':
      return failedError(outcome, context);
    case 'created':
      return unrecordedJobError(outcome, context);
    default:
      return undefined;
  }
}
