import type { Ledger } from '../state-old/ledger.ts';
import { type OwnerLiveness, OwnerWatch } from '../state-old/owner-watch.ts';
import type { CronJob } from './job.ts';
import type { FindJob } from './job-list.ts';
import { type JobRecord, type JobReservation, type JobSnapshot, type RecordedJob, recordedIds } from './job-records.ts';
import { unknownKeyError } from './job-selection.ts';
import {
  openJobs,
  type ReconcileDeps,
  type ReconcileOptions,
  type ReconcileResult,
  reconcileOnce,
} from './reconcile.ts';

/** What `reconcileAll` needs. */
export interface ReconcileAllDeps extends ReconcileDeps, OwnerLiveness {
  readonly origin: string;
  readonly ledger: Pick<Ledger<JobSnapshot>, 'readAll' | 'append' | 'resolveKey'>;
  /** Creates a lookup that reads the service's list anew. @throws PartnerctlError when it cannot be read */
  readonly listJobs: (wanted: readonly Pick<CronJob, 'name'>[]) => FindJob;
  /** Asks the user to confirm that an unlisted job was not created; undefined if the user cannot be asked. */
  readonly confirm: ((result: ReconcileResult) => Promise<boolean>) | undefined;
  /** Called before waiting for the grace period. @param ms how long */
  readonly onWait: (ms: number) => void;
  /** Aborts waiting. */
  readonly abortSignal: AbortSignal;
}

/** A record that could not be appended to the state file when it was created. */
export interface RecoveryRecord {
  readonly record: JobRecord;
}

/**
 * Appends recovery records to the state file, unless their ids were recorded in the meantime.
 * @param remove called for each record once its id is in the state file
 * @returns those that were appended
 */
export async function replayRecovery<Each extends RecoveryRecord>(
  recovered: readonly Each[],
  ledger: ReconcileAllDeps['ledger'],
  remove: (recovered: Each) => Promise<void>,
): Promise<readonly RecordedJob[]> {
  if (recovered.length === 0) return [];
  const records = await ledger.readAll();
  const replayed: RecordedJob[] = [];
  for (const each of recovered) {
    const { record } = each;
    if (record.kind !== 'created') continue;
    if (!recordedIds(records, record.snapshot.origin).has(record.remoteId)) {
      await ledger.append(record);
      replayed.push(record);
    }
    await remove(each);
  }
  return replayed;
}

interface Run {
  readonly deps: ReconcileAllDeps;
  readonly options: ReconcileOptions;
  readonly watch: OwnerWatch;
}

/** Reconciles some reservations with one read of the list. Skips those that other processes settled in the meantime. */
async function reconcileRound(
  reservations: readonly JobReservation[],
  { deps, options, watch }: Run,
): Promise<ReconcileResult[]> {
  const ids = new Set(reservations.map(({ id }) => id));
  const read = async () =>
    openJobs(await deps.ledger.readAll(), deps.origin).filter(({ reservation }) => ids.has(reservation.id));
  // Look at the owners before the list: what one of them sends later may be missing from it.
  for (const job of await read()) await watch.look(job);
  const find = deps.listJobs(reservations.map(({ snapshot }) => snapshot));
  for (const { snapshot } of reservations) await find(snapshot);
  // Read the log after the list: every listed job was reserved in the log before it was created.
  const jobs = await read();
  const adopted = new Set<string>();
  const results: ReconcileResult[] = [];
  for (const job of jobs) {
    const { snapshot } = job.reservation;
    const recordedIds = new Set([...job.recordedIds, ...adopted]);
    const open = { ...job, recordedIds, actsUntil: await watch.look(job) };
    const result = await reconcileOnce(open, await find(snapshot), deps, options);
    if (result.cron_job_id !== null) adopted.add(result.cron_job_id);
    results.push(result);
  }
  return results;
}

/** Reconciles some of the results again; returns the others unchanged. */
async function reconcileAgain(
  results: readonly ReconcileResult[],
  some: readonly ReconcileResult[],
  run: Run,
): Promise<ReconcileResult[]> {
  if (some.length === 0) return [...results];
  const again = await reconcileRound(
    some.map(({ reservation }) => reservation),
    run,
  );
  const later = new Map(again.map((each) => [each.reservation.id, each]));
  return results.flatMap((each) => (some.includes(each) ? (later.get(each.reservation.id) ?? []) : each));
}

/** Waits until every one of these jobs would have appeared in the list. */
async function waitForGrace(
  results: readonly ReconcileResult[],
  { clock, abortSignal, onWait }: ReconcileAllDeps,
): Promise<void> {
  const until = Math.max(...results.map(({ waitUntil }) => waitUntil ?? Number.NEGATIVE_INFINITY));
  if (clock.monotonic() < until) onWait(until - clock.monotonic());
  // Timers may fire slightly early.
  while (clock.monotonic() < until) await clock.sleep(until - clock.monotonic(), abortSignal);
}

/** Whether the user may decide that the job was not created: no candidate is listed, and none can still appear. */
function isMissing({ status, candidates, settlesAt }: ReconcileResult): boolean {
  return status === 'unknown' && candidates.length === 0 && settlesAt === null;
}

/**
 * Settles the reservations with an unknown outcome by looking for their jobs in the service's list.
 * @param options `key` limits it to one key
 * @returns the outcome of each; those that stay open are `unknown` or `in_progress`
 * @throws NotFoundError when the state file does not know the key; PartnerctlError when the list cannot be read;
 * LocalError when the state file cannot be written
 */
export async function reconcileAll(
  deps: ReconcileAllDeps,
  { key: typedKey, ...options }: ReconcileOptions & { readonly key: string | undefined },
): Promise<readonly ReconcileResult[]> {
  const { confirm } = deps;
  const { assumeNotCreated } = options;
  const records = await deps.ledger.readAll();
  const key = typedKey === undefined ? undefined : deps.ledger.resolveKey(typedKey);
  if (key !== undefined && !records.some((record) => record.key === key)) throw unknownKeyError(key);
  const jobs = openJobs(records, deps.origin).filter(({ reservation }) => key === undefined || reservation.key === key);
  if (jobs.length === 0) return [];
  const run = { deps, options, watch: new OwnerWatch(deps) };
  let results = await reconcileRound(
    jobs.map(({ reservation }) => reservation),
    run,
  );
  // A guarded reservation is released without a decision of the user.
  const mayRelease = assumeNotCreated || confirm !== undefined || jobs.some(({ isGuarded }) => isGuarded);
  if (mayRelease && results.some(({ waitUntil }) => waitUntil !== null)) {
    await waitForGrace(results, deps);
    const open = results.filter(({ status }) => status === 'unknown' || status === 'in_progress');
    results = await reconcileAgain(results, open, run);
  }
  if (assumeNotCreated || !confirm) return results;
  const notCreated: ReconcileResult[] = [];
  for (const each of results.filter(isMissing)) if (await confirm(each)) notCreated.push(each);
  return await reconcileAgain(results, notCreated, { ...run, options: { ...options, assumeNotCreated: true } });
}
