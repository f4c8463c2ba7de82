import ms from 'ms';
import type { Context } from '../cli/context.ts';
import { ASSUMPTIONS } from '../contract/assumptions.ts';
import type { PartnerctlError } from '../errors.ts';
import type { FollowNotice } from './terms.ts';

function reasonOf({ info }: PartnerctlError): string {
  return info.why === undefined ? '' : ` (${info.why.split('\n')[0]})`;
}

/** What people are told: in one sentence or two, for stderr or above a prompt. */
export function noticeText(event: FollowNotice): string {
  switch (event.kind) {
    case 'lost':
      return `the line is lost: ${event.error.message}${reasonOf(event.error)} It is tried on.`;
    case 'back': {
      const missed = event.missed === 1 ? '1 message was' : `${event.missed} messages were`;
      return `the line is back after ${ms(event.outageMs)}; ${missed} missed, and shown now.`;
    }
    case 'unknown':
      return `the service does not know the session ${event.session_id} yet${reasonOf(event.error)}: it is taken for one in which nothing was said. If that is wrong, check the base address, the source and the session.`;
    case 'gap':
      return `the history of ${event.session_id} may not be whole: ${event.seen}. Assumed (history.messages): ${ASSUMPTIONS['history.messages']}.`;
  }
}

/**
 * Says on stderr what there is to say of the line and of a session. That a session is not known yet is nothing to worry
 * about by itself; the rest is said with --quiet, too.
 */
export async function sayNotice(context: Pick<Context, 'warn' | 'notice'>, event: FollowNotice): Promise<void> {
  const text = noticeText(event);
  if (event.kind === 'unknown') await context.notice(`note: ${text}`);
  else await context.warn(text);
}
