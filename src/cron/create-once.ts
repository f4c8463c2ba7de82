import { startStopwatch } from '../clock.ts';
import { LateTurn, requestTime } from '../state-old/late-turn.ts';
import { type KeyState, type OnceResult, readKey, runOnce } from '../state-old/once.ts';
import { LONGEST_RESERVATION_MS } from '../state-old/owner-watch.ts';
import type { CreateOnceOptions, CreateOutcome, CreateRequest, CronDeps } from './create-outcome.ts';
import { ambiguousOutcome, outcomeFromList, outcomeOfExisting } from './existing-job.ts';
import { type CronJob, cronKey } from './job.ts';
import type { FoundJobs } from './job-list.ts';
import { type JobSnapshot, toJobSnapshot } from './job-records.ts';

/** How much longer a reservation lasts than its POST may take: an interrupted call takes some seconds to end. */
const DEADLINE_MARGIN_MS = 10_000;
/** The time limit of a POST, even if the command may take longer: other processes wait for its outcome. */
const MAX_POST_MS = LONGEST_RESERVATION_MS - DEADLINE_MARGIN_MS;
const POLL_MS = 200;

async function readState({ key, snapshot, deps }: CreateRequest): Promise<KeyState<JobSnapshot>> {
  const state = await readKey(key, deps);
  deps.ledger.refuseBlocked('newer', snapshot);
  return state;
}

async function outcomeFromLog(request: CreateRequest): Promise<CreateOutcome | 'wait' | undefined> {
  const { key, ensure, dryRun } = request;
  const { objects, open } = await readState(request);
  const existing = await outcomeOfExisting(request, objects);
  if (existing) return existing;
  const [first] = open;
  if (!first) return undefined;
  const since = first.reservation.at;
  if (first.isAbandoned) return { status: 'unknown', key, since };
  return ensure && !dryRun ? 'wait' : { status: 'blocked', key, why: 'in_progress', cron_job_id: null, since };
}

async function reserveAndPost(request: CreateRequest, found: FoundJobs): Promise<OnceResult<'not_first'>> {
  const { job, key, snapshot, deps } = request;
  const { clock } = deps;
  const elapsed = startStopwatch(clock);
  const limitMs = Math.min(deps.remainingMs(), MAX_POST_MS);
  const item = {
    key,
    snapshot,
    deadline: new Date(clock.now() + limitMs + DEADLINE_MARGIN_MS).toISOString(),
    remoteIdsSeen: found.kind === 'read' ? found.maybe.map(({ cron_job_id }) => cron_job_id) : null,
  };
  const task = {
    describe: async () => item,
    objection({ objects, open }: KeyState<JobSnapshot>, reservationId: string | undefined) {
      deps.ledger.refuseBlocked('newer', snapshot);
      deps.ledger.refuseBlocked('damaged', snapshot);
      const isFirst = open[0]?.reservation.id === reservationId;
      return objects.length > 0 || (open.length > 0 && !isFirst) ? ('not_first' as const) : undefined;
    },
  };
  return await runOnce(task, deps, async (commit) => {
    await commit();
    // If the machine slept in the meantime, another process may have settled the reservation.
    return await deps.inTurn(() => deps.post(job, requestTime(limitMs - elapsed(), limitMs, 'the job was sent')));
  });
}

function toCreateOutcome(key: string, result: Exclude<OnceResult<unknown>, { kind: 'refused' }>): CreateOutcome {
  switch (result.kind) {
    case 'created': {
      const { remoteId: cron_job_id, unrecorded } = result;
      return { status: 'created', key, cron_job_id, ...(unrecorded && { unrecorded }) };
    }
    case 'failed':
      return { status: 'failed', key, error: result.error, isReleased: result.isReleased };
    case 'unknown':
      return { status: 'unknown', key, since: result.since, error: result.error };
  }
}

/** @returns undefined if other processes changed the log in the meantime, so that it has to be read again */
async function tryCreate(request: CreateRequest): Promise<CreateOutcome | undefined> {
  const { job, key, snapshot, deps, dryRun } = request;
  const found = await deps.find(job);
  const { same, maybe } = found.kind === 'read' ? found : { same: [], maybe: [] };
  // A listed job may be one that another process has reserved and created since the log was read.
  if (same.length > 0) {
    const { objects, open } = await readState(request);
    if (objects.length + open.length > 0) return undefined;
  }
  const listed = (await outcomeFromList(request, same)) ?? (await ambiguousOutcome(request, maybe));
  if (listed) return listed;
  deps.ledger.refuseBlocked('damaged', snapshot);
  if (dryRun) return { status: 'planned', key };
  const result = await reserveAndPost(request, found);
  const isLate = result.kind === 'failed' && result.isReleased && result.error instanceof LateTurn;
  if (isLate && deps.remainingMs() > 0) return undefined;
  if (result.kind !== 'refused') return toCreateOutcome(key, result);
  // This run's reservation is still open: trying again would wait for it.
  if (result.releaseError) throw result.releaseError;
  return undefined;
}

/**
 * Creates a job unless it exists, or may exist (spec §4.5: the POST is not idempotent). The order of records in the
 * state file decides: the process with the first reservation sends the POST; the others find the job created or in
 * progress.
 * @returns the outcome, including that of a POST that provably created nothing
 * @throws LocalError before anything is sent, if the state file cannot be read or written; PartnerctlError if the list
 *   of jobs cannot be read now
 */
export async function createOnce(job: CronJob, deps: CronDeps, options: CreateOnceOptions): Promise<CreateOutcome> {
  const key = cronKey(deps.origin, job.agent_id, job.name);
  const request = { ...options, job, key, snapshot: toJobSnapshot(deps.origin, job, deps.normalize), deps };
  for (;;) {
    const recorded = await outcomeFromLog(request);
    if (recorded === 'wait') {
      await deps.clock.sleep(POLL_MS, deps.abortSignal);
      continue;
    }
    const outcome = recorded ?? (await tryCreate(request));
    if (outcome) return outcome;
  }
}
