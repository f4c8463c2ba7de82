import type { Message } from '../contract/messages.ts';
import { isUnexpectedShape, PartnerctlError } from '../errors.ts';
import { follow } from './follow.ts';
import type { FollowDeps, SessionEvent } from './follow-session.ts';
import type { SessionRef } from './session.ts';
import { isUnrecognized } from './unrecognized-author.ts';

/** Which replies to wait for: --replies and --settle. Without both, the first one. */
export interface ReplyCriteria {
  readonly replies?: number | undefined;
  /** How long it must be quiet after a reply, in milliseconds. */
  readonly settle?: number | undefined;
}

/** How many replies end a wait. Infinity if only a quiet period does. */
export function wantedCount({ replies, settle }: ReplyCriteria): number {
  return replies ?? (settle === undefined ? 1 : Number.POSITIVE_INFINITY);
}

/** The message to wait for replies to. */
export interface ReplyTarget extends SessionRef {
  readonly after_message_id: string;
  /** Whether it was just registered, so that the history may not have it yet. */
  readonly isJustRegistered: boolean;
}

export interface WaitOutcome {
  readonly replies: readonly Message[];
  /** Messages that may be replies, but whose author is not recognized. */
  readonly unrecognized: readonly Message[];
  /** Whether all replies came, or what ended the wait. */
  readonly end: 'replied' | 'timeout' | 'interrupted' | PartnerctlError;
  /** The last failure, if the history could not be read at the end. */
  readonly lastError: PartnerctlError | undefined;
}

/** How long the history may lack a message that was just registered. */
const REGISTRATION_LAG_MS = 10_000;

/** What has come so far. */
class Replies {
  readonly replies: Message[] = [];
  readonly unrecognized: Message[] = [];
  private readonly criteria: ReplyCriteria;
  private changedAt: number;

  constructor(criteria: ReplyCriteria, now: number) {
    this.criteria = criteria;
    this.changedAt = now;
  }

  /** @returns whether all replies came */
  add(event: SessionEvent, now: number): boolean {
    const { settle } = this.criteria;
    if (event.kind === 'message') {
      this.changedAt = now;
      if (event.message.isReply) this.replies.push(event.message);
      else if (isUnrecognized(event.message)) this.unrecognized.push(event.message);
      return this.replies.length >= wantedCount(this.criteria);
    }
    if (event.kind !== 'polled' || settle === undefined || this.replies.length === 0) return false;
    // A poll that began earlier may have missed what came since.
    return event.isQuiet && event.at >= this.changedAt + settle;
  }
}

/**
 * Waits for replies; those that already exist count.
 * @param onNotice called with the events besides messages
 * @returns what came, and what ended the wait. Throws only what is not a PartnerctlError
 */
export async function waitForReplies(
  deps: FollowDeps,
  { source_id, session_id, after_message_id, isJustRegistered }: ReplyTarget,
  criteria: ReplyCriteria,
  onNotice: (event: SessionEvent) => Promise<void>,
): Promise<WaitOutcome> {
  const { clock, signal } = deps;
  const start = { from: 'after', message_id: after_message_id } as const;
  const lagsUntil = isJustRegistered ? clock.now() + REGISTRATION_LAG_MS : 0;
  const { health, events } = follow(deps, [{ source_id, session_id, start }], { lagsUntil });
  const received = new Replies(criteria, clock.now());
  const outcome = (end: WaitOutcome['end'], lastError = health.lastError): WaitOutcome => {
    const { replies, unrecognized } = received;
    return { replies, unrecognized, end, lastError };
  };
  try {
    for await (const event of events) {
      if (received.add(event, clock.now())) return outcome('replied');
      if (event.kind === 'outage' && isUnexpectedShape(event.error)) return outcome(event.error);
      if (event.kind !== 'message') await onNotice(event);
    }
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    return outcome(error, error);
  }
  if (signal.aborted) return outcome('interrupted');
  return outcome(isUnexpectedShape(health.lastError) ? health.lastError : 'timeout');
}
