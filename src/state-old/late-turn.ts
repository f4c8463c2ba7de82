import { LocalError } from '../errors.ts';

/**
 * A request waited so long for its turn that its reservation might expire before the response. Nothing was sent; the object
 * can be reserved again.
 */
export class LateTurn extends LocalError {
  constructor(object: string) {
    super(`The time for the command was up before ${object}.`, { hint: 'Nothing was sent. Run it again.' });
  }
}

/**
 * Checks that enough time is left for a request that waited for its turn: at least half of the limit.
 * @param leftMs how long the reservation is still valid
 * @param limitMs how long it was valid when it was made
 * @param object what would be sent, for the message: `the job was sent`
 * @returns the time limit of the request, in milliseconds
 * @throws LateTurn
 */
export function requestTime(leftMs: number, limitMs: number, object: string): number {
  if (leftMs > 0 && leftMs >= limitMs / 2) return leftMs;
  throw new LateTurn(object);
}
