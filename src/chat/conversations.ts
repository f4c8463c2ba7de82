import type { Message } from '../contract/messages.ts';
import { type SessionRef, sessionKey } from './session.ts';
import type { SourceNames, WatchEvent } from './watch.ts';

/** The state of a watched session. */
export interface Conversation extends SessionRef, Partial<SourceNames> {
  /** Whether its history cannot be read. */
  readonly isUnreadable: boolean;
  readonly last: Message | undefined;
  /**
   * When the first message of the customer after the last reply was created or, if the service does not say, first seen
   * (milliseconds since the epoch).
   */
  readonly unansweredSince: number | undefined;
}

/** From the most urgent to the least. */
const STATUSES = ['unanswered', 'cannot_be_read', 'answered', 'empty'] as const;

export function statusOf({ isUnreadable, last, unansweredSince }: Conversation): (typeof STATUSES)[number] {
  if (unansweredSince !== undefined) return 'unanswered';
  if (last) return 'answered';
  return isUnreadable ? 'cannot_be_read' : 'empty';
}

/** Adds the next message of a session. @param now when it was seen, in milliseconds since the epoch */
function addMessage(conversation: Conversation, message: Message, now: number): Conversation {
  if (message.isReply) return { ...conversation, last: message, unansweredSince: undefined };
  if (message.role !== 'user') return { ...conversation, last: message };
  const created = Date.parse(message.created_at ?? '');
  // The clock of the service may be ahead.
  const since = Number.isNaN(created) ? now : Math.min(created, now);
  return { ...conversation, last: message, unansweredSince: conversation.unansweredSince ?? since };
}

/** Orders conversations: the longest unanswered first, and among the answered those with the newest messages. */
function compareUrgency(first: Conversation, second: Conversation): number {
  const byStatus = STATUSES.indexOf(statusOf(first)) - STATUSES.indexOf(statusOf(second));
  const timeOf = ({ last }: Conversation): number => Date.parse(last?.created_at ?? '') || 0;
  const bySilence = (first.unansweredSince ?? 0) - (second.unansweredSince ?? 0);
  return byStatus || bySilence || timeOf(second) - timeOf(first);
}

/** The watched conversations, as the events of a watch tell of them. */
export class Conversations {
  private readonly all = new Map<string, Conversation>();
  private readonly names = new Map<string, SourceNames>();

  /** @param now in milliseconds since the epoch */
  apply(event: WatchEvent, now: number): void {
    if (event.kind === 'named') this.names.set(event.source_id, event.names);
    if (event.kind !== 'message' && event.kind !== 'caught-up' && event.kind !== 'unreadable') return;
    const key = sessionKey(event.ref);
    const isUnreadable = event.kind === 'unreadable';
    const before = this.all.get(key) ?? { ...event.ref, isUnreadable, last: undefined, unansweredSince: undefined };
    this.all.set(key, event.kind === 'message' ? addMessage(before, event.message, now) : before);
  }

  namesOf({ source_id }: SessionRef): Partial<SourceNames> {
    return this.names.get(source_id) ?? {};
  }

  /** Returns the conversations, the most urgent first. */
  list(): readonly Conversation[] {
    return [...this.all.values()].map((each) => ({ ...each, ...this.namesOf(each) })).sort(compareUrgency);
  }
}
