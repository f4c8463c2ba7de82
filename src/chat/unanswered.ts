import type { Message } from '../contract/messages.ts';
import type { SessionRef } from '../state-old/session-ref.ts';

/** A message of the customer that no reply followed. */
interface Unanswered {
  readonly message_id: string;
  /** When it was created or, if the service does not say, when it was first seen. Milliseconds since the epoch. */
  readonly since: number;
}

/** The state of a watched session. */
export interface Conversation extends SessionRef {
  /** Whether its history has been read. */
  readonly isRead: boolean;
  readonly last: Message | undefined;
  /** The first message of the customer after the last reply. */
  readonly unanswered: Unanswered | undefined;
}

/** `unread`: the history could not be read yet. */
export type ConversationStatus = 'unanswered' | 'answered' | 'unread' | 'empty';

/** The initial state of a watched session. */
export function unreadConversation({ source_id, session_id }: SessionRef): Conversation {
  return { source_id, session_id, isRead: false, last: undefined, unanswered: undefined };
}

/** Adds the next message of a session. @param now when it was seen, in milliseconds since the epoch */
export function addMessage(conversation: Conversation, message: Message, now: number): Conversation {
  if (message.isReply) return { ...conversation, last: message, unanswered: undefined };
  if (message.role !== 'user') return { ...conversation, last: message };
  const created = message.created_at === null ? Number.NaN : Date.parse(message.created_at);
  // The clock of the service may be ahead.
  const since = Number.isNaN(created) ? now : Math.min(created, now);
  const { unanswered = { message_id: message.message_id, since } } = conversation;
  return { ...conversation, last: message, unanswered };
}

export function statusOf({ isRead, last, unanswered }: Conversation): ConversationStatus {
  if (unanswered) return 'unanswered';
  if (last) return 'answered';
  return isRead ? 'empty' : 'unread';
}

const ORDER: readonly ConversationStatus[] = ['unanswered', 'unread', 'answered', 'empty'];

function lastTime({ last }: Conversation): number {
  const time = Date.parse(last?.created_at ?? '');
  return Number.isNaN(time) ? Number.NEGATIVE_INFINITY : time;
}

/** Orders conversations: the longest unanswered first, and among the answered those with the newest messages. */
export function compareUrgency(first: Conversation, second: Conversation): number {
  const byStatus = ORDER.indexOf(statusOf(first)) - ORDER.indexOf(statusOf(second));
  if (byStatus !== 0) return byStatus;
  if (first.unanswered && second.unanswered) return first.unanswered.since - second.unanswered.since;
  const [one, other] = [lastTime(first), lastTime(second)];
  return one === other ? 0 : other - one;
}

/** Decides when to alert: once for each time that a conversation is unanswered for too long. Times are in milliseconds. */
export class AlertDecision {
  private readonly afterMs: number;
  /** The messages that an alert was sent for. */
  private readonly alerted = new Set<string>();

  constructor(afterMs: number) {
    this.afterMs = afterMs;
  }

  /** When an alert about a conversation is due if it stays unanswered; undefined if no alert is due. */
  dueAt(conversation: Conversation): number | undefined {
    const { unanswered } = conversation;
    if (!unanswered || this.alerted.has(alertKey(conversation, unanswered))) return undefined;
    return unanswered.since + this.afterMs;
  }

  /**
   * Whether to alert about a conversation now; true only once for the same message.
   * @param readAt all messages that existed at this time are known: an older answer may be on its way
   */
  take(conversation: Conversation, readAt: number): boolean {
    const { unanswered } = conversation;
    const dueAt = this.dueAt(conversation);
    if (!unanswered || dueAt === undefined || readAt < dueAt) return false;
    this.alerted.add(alertKey(conversation, unanswered));
    return true;
  }
}

function alertKey({ source_id, session_id }: SessionRef, { message_id }: Unanswered): string {
  return JSON.stringify([source_id, session_id, message_id]);
}
