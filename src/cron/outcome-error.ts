import { shellCommand } from '../cli/shell-command.ts';
import type { GlobalFlags } from '../config/flags.ts';
import { DuplicateError, LocalError, OutcomeUnknownError, PartnerctlError, withHint } from '../errors.ts';
import type { Blocked, CreateOutcome } from './create-once.ts';
import type { CronDifference, CronJob } from './job.ts';

const LONGEST_SHOWN = 200;

function shown(value: string | undefined): string {
  if (value === undefined) return '(not known)';
  return JSON.stringify(value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}…` : value);
}

/** A difference in a line: what is there, and what was asked for. */
function differenceLine({ field, before, after }: CronDifference): string {
  // Of instructions only a hash is kept.
  if (field === 'instructions' && before === undefined) return 'instructions: other ones';
  return `${field}: ${shown(before)} there, ${shown(after)} asked for`;
}

interface About {
  readonly job: Pick<CronJob, 'agent_id' | 'name'>;
  readonly flags: GlobalFlags;
}

function titleOf({ name, agent_id }: About['job']): string {
  return `The job ${JSON.stringify(name)} of the agent ${agent_id}`;
}

function blockedFailure(outcome: Blocked & { readonly key: string }, { job, flags }: About): DuplicateError {
  const { key, cron_job_id, why, since, differences = [], candidates = [] } = outcome;
  const title = titleOf(job);
  const forget = shellCommand(['cron', 'forget', key], flags);
  const details = { cron_job_id, key, reason: why, differences, candidates };
  switch (why) {
    case 'same':
      return new DuplicateError(`${title} exists: ${cron_job_id}.`, {
        why: `It was recorded at ${since}, with the same content.`,
        hint: 'With --ensure a job that is there already is a success.',
        details,
      });
    case 'different':
      return new DuplicateError(`${title} exists with other content${cron_job_id ? `: ${cron_job_id}` : ''}.`, {
        why: differences.map(differenceLine).join('\n'),
        hint: `The service has no call to change a job. Give the new one another name; or, once the old one is gone from the service: ${forget}`,
        details,
      });
    case 'gone':
      return new DuplicateError(`${title} was created as ${cron_job_id}, and the service lists it no more.`, {
        why: `It was recorded at ${since}. It is not created again by itself: whoever removed it may have meant it.`,
        hint: `To let it be created again: ${forget}`,
        details,
      });
    case 'several':
      return new DuplicateError(
        `The service has more than one job ${JSON.stringify(job.name)} of the agent ${job.agent_id}.`,
        {
          why: candidates.join(', '),
          hint: `Which of them is yours is not guessed: ${shellCommand(['cron', 'adopt', '<cron_job_id>', '--agent', job.agent_id, '--name', job.name], flags)}`,
          details,
        },
      );
    case 'ambiguous': {
      const [id = ''] = candidates;
      const adopt = (agent: string) => shellCommand(['cron', 'adopt', id, '--agent', agent, '--name', job.name], flags);
      return new DuplicateError(`${title} may exist: the service has ${candidates.join(', ')}.`, {
        why: 'It has this name and content, the service does not say whose it is, and the state file does not know it.',
        hint: `If it is this one: ${adopt(job.agent_id)}\nIf it is another agent's, record it as that one: ${adopt('<agent_id>')}`,
        details,
      });
    }
    case 'in_progress':
      return new DuplicateError(`${title} is being created by another process.`, {
        why: `It reserved the job at ${since}.`,
        hint: 'With --ensure its outcome is waited for.',
        details,
      });
  }
}

function unknownFailure(
  outcome: Extract<CreateOutcome, { status: 'unknown' }>,
  { job, flags }: About,
): PartnerctlError {
  const { key, since, error } = outcome;
  const reconcile = `Look what became of it: ${shellCommand(['cron', 'reconcile'], flags)}`;
  const blocked = 'Until then nothing is created under this name.';
  const details = { key };
  if (error instanceof PartnerctlError) {
    return new OutcomeUnknownError(`${titleOf(job)} may have been created.`, {
      ...error.info,
      why: `${error.info.why ?? error.message}\nIts key is ${key}.`,
      hint: `${reconcile}\n${blocked}`,
      details: { ...details, cause: error.info.details ?? null },
      cause: error,
    });
  }
  return new OutcomeUnknownError(`${titleOf(job)} may have been created before.`, {
    why: `It was reserved at ${since}, and how that ended was never recorded, or is not known. Its key is ${key}.`,
    hint: `${reconcile}\n${blocked}`,
    details,
    cause: error,
  });
}

function unrecordedFailure(
  outcome: Extract<CreateOutcome, { status: 'created' }>,
  about: About,
): LocalError | undefined {
  const { unrecorded, cron_job_id, key } = outcome;
  if (!unrecorded) return undefined;
  const { error, recoveryPath } = unrecorded;
  const { agent_id, name } = about.job;
  const adopt = shellCommand(['cron', 'adopt', cron_job_id, '--agent', agent_id, '--name', name, '--yes'], about.flags);
  const reconcile = shellCommand(['cron', 'reconcile'], about.flags);
  const kept =
    recoveryPath === undefined
      ? ''
      : `\nThe record is kept in ${recoveryPath}; from beside the state file this takes it up, too: ${reconcile}`;
  return new LocalError(`The job was created as ${cron_job_id}, and this could not be recorded.`, {
    why: error instanceof PartnerctlError ? `${error.message}\n${error.info.why ?? ''}`.trim() : String(error),
    hint: `Once the state file can be written, record it: ${adopt}${kept}`,
    details: { cron_job_id, key, recovery_file: recoveryPath ?? null },
    cause: error,
  });
}

function failedFailure(
  { key, error, isReleased }: Extract<CreateOutcome, { status: 'failed' }>,
  { flags }: About,
): unknown {
  if (!(error instanceof PartnerctlError)) return error;
  const more = isReleased
    ? 'The job was not created.'
    : `The job was not created, but that could not be recorded, so its name stays blocked until it is reconciled: ${shellCommand(['cron', 'reconcile'], flags)}`;
  return withHint(error, { hint: more, details: { key } });
}

/**
 * What a command has to report of an outcome.
 * @returns undefined where all is as it should be
 */
export function outcomeError(outcome: CreateOutcome, about: About): unknown {
  switch (outcome.status) {
    case 'blocked':
      return blockedFailure(outcome, about);
    case 'unknown':
      return unknownFailure(outcome, about);
    case 'failed':
      return failedFailure(outcome, about);
    case 'created':
      return unrecordedFailure(outcome, about);
    default:
      return undefined;
  }
}
