import type { Message } from '../contract/messages.ts';
import { PartnerctlError } from '../errors.ts';
import { follow } from './follow.ts';
import type { Place } from './shown.ts';
import type { FollowNotice, FollowParts } from './terms.ts';

export interface WaitOptions {
  /** How many replies are waited for; without end where only quiet ends the waiting. */
  readonly replies: number;
  /** Milliseconds of quiet after which the replies are taken to be all. */
  readonly settleMs: number | undefined;
  /** Milliseconds after which to give up; the command's deadline counts as well. */
  readonly timeoutMs: number | undefined;
  /** Whether the message was only just registered. */
  readonly registered: boolean;
}

export interface Waited {
  readonly replies: readonly Message[];
  /** `replied`: all of them; otherwise what ended the waiting before that. */
  readonly end: 'replied' | 'timeout' | 'interrupted' | PartnerctlError;
  /** The last failure, when the history could not be read at the end. */
  readonly lastError: PartnerctlError | undefined;
}

/**
 * Waits for what is replied after a message. A reply that is there already counts.
 * @param onNotice told what people are to know besides the replies: that the service is out of reach, and is back
 */
export async function waitForReplies(
  parts: FollowParts,
  place: Place,
  messageId: string,
  { replies: wanted, settleMs, timeoutMs, registered }: WaitOptions,
  onNotice: (event: FollowNotice) => Promise<void>,
): Promise<Waited> {
  const { events } = follow(parts, {
    source_id: place.source_id,
    sessions: [{ session_id: place.session_id, start: { from: 'after', message_id: messageId } }],
    follow: true,
    timeoutMs,
    until: { replies: wanted, settleMs },
    awaiting: true,
    registered,
  });
  const replies: Message[] = [];
  try {
    for await (const event of events) {
      if (event.kind === 'message') {
        if (event.message.isReply) replies.push(event.message);
      } else if (event.kind === 'end') {
        return { replies, end: event.why === 'read' ? 'replied' : event.why, lastError: event.error };
      } else if (event.kind !== 'read') {
        await onNotice(event);
      }
    }
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    return { replies, end: error, lastError: error };
  }
  throw new Error('The following ended without an end.');
}
