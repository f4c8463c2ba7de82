import type { Clock } from '../clock.ts';
import { LocalError, OutcomeUnknownError, PartnerctlError, provesNothingDone } from '../errors.ts';
import type { Ledger } from './ledger.ts';
import {
  type Ending,
  type KeyHistory,
  keyHistory,
  type OpenReservation,
  type Owner,
  type RecordedObject,
  type Reservation,
} from './once-records.ts';

/*
 * Things that must happen at most once (design §4 and §6): reserve the key in the log, act, and record the outcome. Killed at
 * any point, a run leaves either nothing or a reservation without an end, which blocks its key until it is settled.
 */

/** Tells whether the process that made a reservation may still act on it. */
export interface OwnerLiveness {
  readonly clock: Clock;
  /** Whether a process is gone; undefined where this machine cannot tell. */
  readonly hasEnded: (owner: Owner) => Promise<boolean | undefined>;
}

/** A reservation with a deadline further off than this was made by a clock that was wrong. */
const LONGEST_RESERVATION_MS = 3_600_000;

/**
 * Whether nothing more can come from a reservation. The owner on another machine counts as alive until its deadline, and
 * as gone where the reservation has none.
 */
export async function isAbandoned<Snapshot>(
  { reservation, unknown }: OpenReservation<Snapshot>,
  { clock, hasEnded }: OwnerLiveness,
): Promise<boolean> {
  if (unknown !== undefined) return true;
  if (reservation.deadline === null) return (await hasEnded(reservation.owner)) !== false;
  const timeLeft = Date.parse(reservation.deadline) - clock.now();
  // NaN counts as expired.
  if (!(timeLeft >= 0 && timeLeft <= LONGEST_RESERVATION_MS)) return true;
  return (await hasEnded(reservation.owner)) === true;
}

/** The history of a key, with what is known of the owners of its open reservations. */
export interface KeyState<Snapshot> extends KeyHistory<Snapshot> {
  readonly open: readonly (OpenReservation<Snapshot> & { readonly isAbandoned: boolean })[];
}

/** Reads what the log says of a key now. @throws LocalError when the log cannot be read */
export async function readKey<Snapshot>(
  key: string,
  deps: OwnerLiveness & { readonly ledger: Pick<Ledger<Snapshot>, 'read'> },
): Promise<KeyState<Snapshot>> {
  const history = keyHistory(await deps.ledger.read(key));
  const abandoned = new Set<string>();
  for (const each of history.open) if (await isAbandoned(each, deps)) abandoned.add(each.reservation.id);
  // An owner may have recorded its outcome between the read and its end.
  const current = abandoned.size === 0 ? history : keyHistory(await deps.ledger.read(key));
  const open = current.open.map((each) => ({ ...each, isAbandoned: abandoned.has(each.reservation.id) }));
  return { objects: current.objects, open };
}

/** What a run needs of the world. */
export interface OnceDeps<Snapshot> extends OwnerLiveness {
  readonly ledger: Ledger<Snapshot>;
  /** A fresh record id. */
  readonly newId: () => string;
  /** This process. */
  readonly owner: Owner;
  /** Keeps a record that the log did not take. @returns where; undefined where that failed too */
  readonly writeRecovery?: (record: RecordedObject<Snapshot>) => Promise<string | undefined>;
}

/** What is to be created. */
type OnceItem<Snapshot> = Pick<Reservation<Snapshot>, 'key' | 'snapshot' | 'deadline' | 'remoteIdsSeen'>;

export interface OnceTask<Snapshot, Objection> {
  /** Called before reserving, or, when the service answered before that, to record the outcome. May throw. */
  readonly describe: () => Promise<OnceItem<Snapshot>>;
  /**
   * Why the request must not be sent, given what the log says; undefined to go on.
   * @param reservationId of this run, once it is in the log
   */
  readonly objection: (state: KeyState<Snapshot>, reservationId: string | undefined) => Objection | undefined;
}

export type OnceResult<Objection> =
  /** `unrecorded` is set where the log did not take the id. */
  | {
      readonly kind: 'created';
      readonly remoteId: string;
      readonly unrecorded?: { readonly error: unknown; readonly recoveryPath: string | undefined };
    }
  /** Nothing was sent. `releaseError` is set where the reservation stays in the log without an end. */
  | { readonly kind: 'refused'; readonly objection: Objection; readonly releaseError: LocalError | undefined }
  /** Proof that nothing was created. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly isReleased: boolean }
  | { readonly kind: 'unknown'; readonly error: unknown; readonly since: string };

/** What one run has written so far. */
interface Attempt<Snapshot, Objection> {
  readonly task: OnceTask<Snapshot, Objection>;
  readonly deps: OnceDeps<Snapshot>;
  reservation: Reservation<Snapshot> | undefined;
  /** One promise for all calls of `commit`: a retried request must not go out before the reservation is on disk either. */
  reserving: Promise<Objection | undefined> | undefined;
  /** Why `commit` threw, by what it threw. */
  readonly refusals: Map<unknown, Refusal<Objection>>;
}

type Refusal<Objection> = { readonly objection: Objection } | { readonly error: unknown };

/** Keeps a request from being sent. */
class NotCommitted extends Error {}

function newRecord({ clock, newId }: Pick<OnceDeps<unknown>, 'clock' | 'newId'>) {
  return { id: newId(), at: new Date(clock.now()).toISOString() };
}

async function reserve<Snapshot, Objection>(attempt: Attempt<Snapshot, Objection>): Promise<Objection | undefined> {
  const { task, deps } = attempt;
  const item = await task.describe();
  const objection = task.objection(await readKey(item.key, deps), undefined);
  if (objection !== undefined) return objection;
  attempt.reservation = { kind: 'reserved', ...newRecord(deps), ...item, owner: deps.owner };
  await deps.ledger.append(attempt.reservation);
  return undefined;
}

/** Whether another reservation came first is decided by the log alone: once this one owns the key, no other record changes that. */
async function objectionAfterReserving<Snapshot, Objection>(
  { task, deps }: Attempt<Snapshot, Objection>,
  { key, id }: Reservation<Snapshot>,
): Promise<Objection | undefined> {
  const state = await readKey(key, deps);
  const objection = task.objection(state, id);
  if (objection === undefined && !state.open.some(({ reservation }) => reservation.id === id)) {
    throw new LocalError('The reservation cannot be read back from the state file.', {
      hint: 'Nothing was sent. Check the file: partnerctl state verify',
    });
  }
  return objection;
}

async function commit<Snapshot, Objection>(attempt: Attempt<Snapshot, Objection>): Promise<void> {
  let refusal: Refusal<Objection>;
  try {
    attempt.reserving ??= reserve(attempt);
    let objection = await attempt.reserving;
    if (attempt.reservation) objection = await objectionAfterReserving(attempt, attempt.reservation);
    if (objection === undefined) return;
    refusal = { objection };
  } catch (error) {
    refusal = { error };
  }
  const thrown = new NotCommitted('The request must not be sent.');
  attempt.refusals.set(thrown, refusal);
  throw thrown;
}

/** Ends the reservation, if there is one. @returns the error where that could not be recorded */
async function endReservation<Snapshot, Objection>(
  { reservation, deps }: Attempt<Snapshot, Objection>,
  kind: Ending['kind'],
  reason: string,
): Promise<LocalError | undefined> {
  if (!reservation) return undefined;
  const { id, key } = reservation;
  try {
    await deps.ledger.append({ kind, ...newRecord(deps), key, reservation: id, reason });
    return undefined;
  } catch (error) {
    if (error instanceof LocalError) return error;
    throw error;
  }
}

/** An answer that came before the reservation: the next run must know of it all the same. */
async function reserveLate<Snapshot, Objection>(attempt: Attempt<Snapshot, Objection>): Promise<void> {
  const { task, deps } = attempt;
  try {
    const item = await task.describe();
    attempt.reservation = { kind: 'reserved', ...newRecord(deps), ...item, owner: deps.owner };
    await deps.ledger.append(attempt.reservation);
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
  }
}

async function settleFailure<Snapshot, Objection>(
  attempt: Attempt<Snapshot, Objection>,
  error: unknown,
): Promise<OnceResult<Objection>> {
  const { deps } = attempt;
  const refusal = attempt.refusals.get(error);
  if (refusal) {
    const releaseError = await endReservation(attempt, 'released', 'error' in refusal ? 'not_reserved' : 'not_first');
    if ('error' in refusal) throw refusal.error;
    return { kind: 'refused', objection: refusal.objection, releaseError };
  }
  const status = error instanceof PartnerctlError ? error.info.status : undefined;
  const mayExist = attempt.reservation !== undefined || error instanceof OutcomeUnknownError;
  if (provesNothingDone(error) || !mayExist) {
    const reason = status === undefined ? 'not_sent' : `http_${status}`;
    const releaseError = await endReservation(attempt, 'released', reason);
    return { kind: 'failed', error, isReleased: releaseError === undefined };
  }
  if (!attempt.reservation) await reserveLate(attempt);
  await endReservation(attempt, 'unknown', status === undefined ? 'no_answer' : `http_${status}`);
  return { kind: 'unknown', error, since: attempt.reservation?.at ?? new Date(deps.clock.now()).toISOString() };
}

async function recordCreated<Snapshot, Objection>(
  { task, deps, reservation }: Attempt<Snapshot, Objection>,
  remoteId: string,
): Promise<OnceResult<Objection>> {
  let record: RecordedObject<Snapshot> | undefined;
  try {
    const { key, snapshot } = reservation ?? (await task.describe());
    const id = reservation?.id ?? null;
    record = { kind: 'created', ...newRecord(deps), key, snapshot, reservation: id, remoteId };
    await deps.ledger.append(record);
    return { kind: 'created', remoteId };
  } catch (error) {
    // Whatever keeps it from being recorded: the id is reported.
    const recoveryPath = record && (await deps.writeRecovery?.(record));
    return { kind: 'created', remoteId, unrecorded: { error, recoveryPath } };
  }
}

/**
 * Does something at most once: `act` sends the request, and calls `commit` before the service can have all of it.
 * @param act what it returns is the id of what was created. It throws OutcomeUnknownError where something may have been
 *   created; any other PartnerctlError proves that nothing was. It must pass on what `commit` throws.
 * @returns what happened; a request that failed is a result, too
 * @throws LocalError when the key cannot be reserved in the log; nothing was sent then
 */
export async function runOnce<Snapshot, Objection>(
  task: OnceTask<Snapshot, Objection>,
  deps: OnceDeps<Snapshot>,
  act: (commit: () => Promise<void>) => Promise<string>,
): Promise<OnceResult<Objection>> {
  const attempt: Attempt<Snapshot, Objection> = {
    task,
    deps,
    reservation: undefined,
    reserving: undefined,
    refusals: new Map(),
  };
  let remoteId: string;
  try {
    remoteId = await act(() => commit(attempt));
  } catch (error) {
    // The reservation comes first in the log; where it could not be written, it may be there all the same.
    await attempt.reserving?.catch(() => undefined);
    return await settleFailure(attempt, error);
  }
  await attempt.reserving?.catch(() => undefined);
  return await recordCreated(attempt, remoteId);
}
