import { LocalError } from '../errors.ts';

/**
 * The turn of a request came so late that its reservation might not last until the response. Nothing was sent; the object
 * can be reserved again.
 */
export class LateTurn extends LocalError {
  constructor(object: string) {
    super(`The time for the command was up before ${object}.`, { hint: 'Nothing was sent. Run it again.' });
  }
}

/**
 * Checks that enough time is left for a request that waited for its turn.
 * @param leftMs how long the reservation lasts
 * @param limitMs how long it lasted when it was made
 * @param object what would be sent, for the message: `the job was sent`
 * @returns the time limit of the request, in milliseconds
 * @throws LateTurn
 */
export function requestTime(leftMs: number, limitMs: number, object: string): number {
  if (leftMs > 0 && leftMs >= limitMs / 2) return leftMs;
  throw new LateTurn(object);
}
