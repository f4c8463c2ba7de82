import { isWithoutId, LocalError, OutcomeUnknownError, PartnerctlError, provesNothingDone } from '../errors.ts';
import type { Ledger } from './ledger.ts';
import {
  type Ending,
  type KeyHistory,
  keyHistory,
  NO_ID,
  type OpenReservation,
  type Owner,
  type RecordedObject,
  type Reservation,
  stampRecord,
} from './once-records.ts';
import { isAbandoned, type OwnerLiveness } from './owner-watch.ts';

/*
 * Creates an object at most once (design §4 and §6): reserves the key in the log, sends the request, and records the
 * outcome. A run that is killed at any point leaves either nothing or an open reservation, which blocks its key until it is
 * reconciled.
 */

/** The history of a key, and whether each of its open reservations is abandoned. */
export interface KeyState<Snapshot> extends KeyHistory<Snapshot> {
  readonly open: readonly (OpenReservation<Snapshot> & { readonly isAbandoned: boolean })[];
}

/** Reads the current state of a key from the log. @throws LocalError if the log cannot be read */
export async function readKey<Snapshot>(
  key: string,
  deps: OwnerLiveness & { readonly ledger: Pick<Ledger<Snapshot>, 'read'> },
): Promise<KeyState<Snapshot>> {
  const history = keyHistory(await deps.ledger.read(key));
  const abandoned = new Set<string>();
  for (const each of history.open) if (await isAbandoned(each, deps)) abandoned.add(each.reservation.id);
  // Read again: an owner may have recorded its outcome after the first read and before it exited.
  const current = abandoned.size === 0 ? history : keyHistory(await deps.ledger.read(key));
  const open = current.open.map((each) => ({ ...each, isAbandoned: abandoned.has(each.reservation.id) }));
  return { objects: current.objects, open };
}

/** The external dependencies of a run. */
export interface OnceDeps<Snapshot> extends OwnerLiveness {
  readonly ledger: Ledger<Snapshot>;
  /** Returns a new record id. */
  readonly newId: () => string;
  /** This process. */
  readonly owner: Owner;
  /** Saves a record that could not be appended to the log. @returns the path; undefined if that failed, too */
  readonly writeRecovery?: (record: RecordedObject<Snapshot>) => Promise<string | undefined>;
}

/** The object to create. */
type OnceItem<Snapshot> = Pick<Reservation<Snapshot>, 'key' | 'snapshot' | 'deadline' | 'remoteIdsSeen'>;

export interface OnceTask<Snapshot, Objection> {
  /** Called before reserving, or to record the outcome if the service responds before that. May throw. */
  readonly describe: () => Promise<OnceItem<Snapshot>>;
  /**
   * Returns why the request must not be sent in this state of the log; undefined to proceed.
   * @param reservationId this run's reservation, once it is in the log
   */
  readonly objection: (state: KeyState<Snapshot>, reservationId: string | undefined) => Objection | undefined;
}

export type OnceResult<Objection> =
  /** `unrecorded` is set if the id could not be recorded in the log. */
  | {
      readonly kind: 'created';
      readonly remoteId: string;
      readonly unrecorded?: { readonly error: unknown; readonly recoveryPath: string | undefined };
    }
  /** Nothing was sent. `releaseError` is set if the reservation could not be released and stays open in the log. */
  | { readonly kind: 'refused'; readonly objection: Objection; readonly releaseError: PartnerctlError | undefined }
  /** The error proves that nothing was created. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly isReleased: boolean }
  | { readonly kind: 'unknown'; readonly error: unknown; readonly since: string };

/** The state of one run. */
interface OnceRun<Snapshot, Objection> {
  readonly task: OnceTask<Snapshot, Objection>;
  readonly deps: OnceDeps<Snapshot>;
  reservation: Reservation<Snapshot> | undefined;
  /** Shared by all calls of `commit`: a retried request must also wait until the reservation is on disk. */
  reserving: Promise<Objection | undefined> | undefined;
  /** Why `commit` threw, by the error that it threw. */
  readonly refusals: Map<unknown, Refusal<Objection>>;
}

type Refusal<Objection> = { readonly objection: Objection } | { readonly error: unknown };

/** Thrown by `commit` to prevent the request from being sent. */
class NotCommitted extends Error {}

async function reserve<Snapshot, Objection>(run: OnceRun<Snapshot, Objection>): Promise<Objection | undefined> {
  const { task, deps } = run;
  const item = await task.describe();
  const objection = task.objection(await readKey(item.key, deps), undefined);
  if (objection !== undefined) return objection;
  run.reservation = { kind: 'reserved', ...stampRecord(deps), ...item, owner: deps.owner };
  await deps.ledger.append(run.reservation);
  return undefined;
}

/** Checks in the log whether this reservation is the first. Once it owns the key, no other record changes that. */
async function objectionAfterReserving<Snapshot, Objection>(
  { task, deps }: OnceRun<Snapshot, Objection>,
  { key, id }: Reservation<Snapshot>,
): Promise<Objection | undefined> {
  const state = await readKey(key, deps);
  const objection = task.objection(state, id);
  if (objection === undefined && !state.open.some(({ reservation }) => reservation.id === id)) {
    throw new LocalError('The reservation cannot be read back from the state.', {
      hint: 'Nothing was sent. Check the state: partnerctl state verify',
    });
  }
  return objection;
}

async function commit<Snapshot, Objection>(run: OnceRun<Snapshot, Objection>): Promise<void> {
  let refusal: Refusal<Objection>;
  try {
    run.reserving ??= reserve(run);
    let objection = await run.reserving;
    if (run.reservation) objection = await objectionAfterReserving(run, run.reservation);
    if (objection === undefined) return;
    refusal = { objection };
  } catch (error) {
    refusal = { error };
  }
  const thrown = new NotCommitted('The request must not be sent.');
  run.refusals.set(thrown, refusal);
  throw thrown;
}

/** Ends the reservation, if there is one. @returns the error if the end could not be recorded */
async function endReservation<Snapshot, Objection>(
  { reservation, deps }: OnceRun<Snapshot, Objection>,
  kind: Ending['kind'],
  reason: string,
): Promise<PartnerctlError | undefined> {
  if (!reservation) return undefined;
  const { id, key } = reservation;
  try {
    await deps.ledger.append({ kind, ...stampRecord(deps), key, reservation: id, reason });
    return undefined;
  } catch (error) {
    // Also an interruption: the outcome of the request matters more.
    if (error instanceof PartnerctlError) return error;
    throw error;
  }
}

/** Reserves after an unknown outcome without a reservation, so that the next run knows of it. */
async function reserveLate<Snapshot, Objection>(run: OnceRun<Snapshot, Objection>): Promise<void> {
  const { task, deps } = run;
  try {
    const item = await task.describe();
    run.reservation = { kind: 'reserved', ...stampRecord(deps), ...item, owner: deps.owner };
    await deps.ledger.append(run.reservation);
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
  }
}

async function recordFailure<Snapshot, Objection>(
  run: OnceRun<Snapshot, Objection>,
  error: unknown,
): Promise<OnceResult<Objection>> {
  const { deps } = run;
  const refusal = run.refusals.get(error);
  if (refusal) {
    const releaseError = await endReservation(run, 'released', 'error' in refusal ? 'not_reserved' : 'not_first');
    if ('error' in refusal) throw refusal.error;
    return { kind: 'refused', objection: refusal.objection, releaseError };
  }
  const status = error instanceof PartnerctlError ? error.info.status : undefined;
  const mayExist = run.reservation !== undefined || error instanceof OutcomeUnknownError;
  if (provesNothingDone(error) || !mayExist) {
    const reason = status === undefined ? 'not_sent' : `http_${status}`;
    const releaseError = await endReservation(run, 'released', reason);
    return { kind: 'failed', error, isReleased: releaseError === undefined };
  }
  if (!run.reservation) await reserveLate(run);
  const answer = status === undefined ? 'no_answer' : `http_${status}`;
  await endReservation(run, 'unknown', isWithoutId(error) ? NO_ID : answer);
  return { kind: 'unknown', error, since: run.reservation?.at ?? new Date(deps.clock.now()).toISOString() };
}

async function recordCreated<Snapshot, Objection>(
  { task, deps, reservation }: OnceRun<Snapshot, Objection>,
  remoteId: string,
): Promise<OnceResult<Objection>> {
  let record: RecordedObject<Snapshot> | undefined;
  try {
    const { key, snapshot } = reservation ?? (await task.describe());
    const id = reservation?.id ?? null;
    record = { kind: 'created', ...stampRecord(deps), key, snapshot, reservation: id, remoteId };
    await deps.ledger.append(record);
    return { kind: 'created', remoteId };
  } catch (error) {
    // Report the id, whatever the error.
    const recoveryPath = record && (await deps.writeRecovery?.(record));
    return { kind: 'created', remoteId, unrecorded: { error, recoveryPath } };
  }
}

/**
 * Creates an object at most once per key. `act` sends the request, and calls `commit` before the service can have received
 * all of it.
 * @param act returns the id of the new object. It throws OutcomeUnknownError if the object may have been created; any
 *   other PartnerctlError proves that it was not. It must rethrow any error from `commit`.
 * @returns the outcome, including a failed request
 * @throws LocalError if the key cannot be reserved in the log, in which case nothing was sent
 */
export async function runOnce<Snapshot, Objection>(
  task: OnceTask<Snapshot, Objection>,
  deps: OnceDeps<Snapshot>,
  act: (commit: () => Promise<void>) => Promise<string>,
): Promise<OnceResult<Objection>> {
  const run: OnceRun<Snapshot, Objection> = {
    task,
    deps,
    reservation: undefined,
    reserving: undefined,
    refusals: new Map(),
  };
  let remoteId: string;
  try {
    remoteId = await act(() => commit(run));
  } catch (error) {
    // Wait for the reservation, so that its end follows it in the log. The log may have it even if the append failed.
    await run.reserving?.catch(() => undefined);
    return await recordFailure(run, error);
  }
  await run.reserving?.catch(() => undefined);
  return await recordCreated(run, remoteId);
}
