import type { Clock } from '../clock.ts';
import type { OpenReservation, Owner, Reservation } from './once-records.ts';

/** Checks whether the process that made a reservation may still act on it. */
export interface OwnerLiveness {
  readonly clock: Clock;
  /** Whether a process has ended; undefined if this machine cannot tell. */
  readonly hasEnded: (owner: Owner) => Promise<boolean | undefined>;
}

/** The longest time that an owner acts on a reservation with a deadline. */
export const LONGEST_RESERVATION_MS = 130_000;

/**
 * Whether the owner of a reservation can no longer act on it. A process that this machine sees running is never gone. An
 * owner that this machine cannot see counts as alive until the deadline, or as gone if there is none. The clocks of two
 * machines may differ, so this must only decide how a key is blocked, not whether: code that releases a key uses
 * `OwnerWatch`.
 */
export async function isAbandoned<Snapshot>(
  { reservation, unknown }: OpenReservation<Snapshot>,
  { clock, hasEnded }: OwnerLiveness,
): Promise<boolean> {
  if (unknown !== undefined) return true;
  const ended = await hasEnded(reservation.owner);
  if (ended !== undefined || reservation.deadline === null) return ended ?? true;
  const timeLeft = Date.parse(reservation.deadline) - clock.now();
  // NaN counts as expired.
  return !(timeLeft >= 0 && timeLeft <= LONGEST_RESERVATION_MS);
}

/** How long an owner may act on a reservation, in milliseconds. Both times are from one clock. */
function lengthOf({ at, deadline }: Reservation<unknown>): number {
  const length = Date.parse(deadline ?? '') - Date.parse(at);
  return length >= 0 && length <= LONGEST_RESERVATION_MS ? length : LONGEST_RESERVATION_MS;
}

/**
 * Watches the owners of reservations by the monotonic clock of this process: wall clocks of other machines, or of earlier
 * times, may be wrong by any amount.
 */
export class OwnerWatch {
  private readonly deps: OwnerLiveness;
  private readonly firstSeen = new Map<string, number>();
  private readonly gone = new Map<string, number>();

  constructor(deps: OwnerLiveness) {
    this.deps = deps;
  }

  /**
   * Checks an owner.
   * @returns the monotonic time in milliseconds after which it cannot act: when it was first seen to have ended; if this
   *   machine cannot see it, the length of the reservation after the first check; Infinity if it is running
   */
  async look({ reservation, unknown }: OpenReservation<unknown>): Promise<number> {
    const { clock, hasEnded } = this.deps;
    const { id, owner } = reservation;
    const firstSeen = this.firstSeen.get(id) ?? clock.monotonic();
    this.firstSeen.set(id, firstSeen);
    const ended = unknown !== undefined || (await hasEnded(owner));
    if (ended === false) return Number.POSITIVE_INFINITY;
    if (ended) this.gone.set(id, this.gone.get(id) ?? clock.monotonic());
    return this.gone.get(id) ?? firstSeen + lengthOf(reservation);
  }
}
