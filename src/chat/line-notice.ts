import ms from 'ms';
import type { Context } from '../context.ts';
import type { FollowEvent } from './terms.ts';

/** Says on stderr that the service is out of reach, or that it is back and how many messages came meanwhile. */
export async function sayLine(
  context: Pick<Context, 'warn' | 'notice'>,
  event: Extract<FollowEvent, { kind: 'lost' | 'back' }>,
): Promise<void> {
  if (event.kind === 'lost') {
    const { message, facts } = event.error;
    const why = facts.why === undefined ? '' : ` (${facts.why.split('\n')[0]})`;
    await context.warn(`the line is lost: ${message}${why} It is tried on.`);
    return;
  }
  const missed = event.missed === 1 ? '1 message was' : `${event.missed} messages were`;
  await context.notice(`The line is back after ${ms(event.outageMs)}; ${missed} missed, and shown now.`);
}
