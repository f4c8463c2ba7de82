import type { Clock } from '../clock.ts';
import type { OpenReservation, Owner } from './history.ts';

/** The longest time that sending a job may take, whatever the command's own deadline: nobody is kept waiting for longer. */
export const LONGEST_POST_MS = 120_000;
/** How long a reservation outlives the time of its POST: a call that is interrupted may take some seconds to end. */
export const MARGIN_MS = 10_000;
/** A reservation that has longer to go than this was made by a clock that was wrong. */
const LONGEST_MS = 3_600_000;

/** What tells whether a process may still send the job that it reserved. */
export interface Judge {
  readonly clock: Pick<Clock, 'now'>;
  /** Undefined where it cannot be told from here. */
  readonly hasEnded: (owner: Owner) => Promise<boolean | undefined>;
}

/** Whether nothing more can come of a reservation whose end was not recorded. */
export async function isOver({ reservation, unknown }: OpenReservation, { clock, hasEnded }: Judge): Promise<boolean> {
  if (unknown !== undefined) return true;
  const timeLeft = Date.parse(reservation.until) - clock.now();
  // Put this way round, a moment that cannot be read does not block the key for ever either.
  if (!(timeLeft >= 0 && timeLeft <= LONGEST_MS)) return true;
  return (await hasEnded(reservation.owner)) === true;
}

/** The last moment, in milliseconds, at which a reservation that is over can have sent its job, as far as can be told now. */
export function lastSentBy({ reservation, unknown }: OpenReservation, now: number): number {
  if (unknown !== undefined) return Math.min(now, Date.parse(unknown.at));
  const latest = Date.parse(reservation.until) - MARGIN_MS;
  return Number.isNaN(latest) ? now : Math.min(now, latest);
}
