import { normalizeName } from '../contract/field-names.ts';
import type { Message } from '../contract/messages.ts';
import { type Cursor, createdAt } from './shown.ts';

/** A service may mean something else by a status, so a reply that stays as it is holds others for no longer than this. */
const MAX_HELD_MS = 30_000;
/** No run of an agent takes longer: it has crashed. */
const MAX_RUN_MS = 600_000;

const STATUS = /^(status|state)$/;
const UNFINISHED = /^(inprogress|streaming|generating|pending|queued|processing|running|thinking|incomplete|partial)$/;

/** Whether a message is a reply that the agent still writes, by its status. */
export function isUnfinished({ role, raw }: Message): boolean {
  if (role !== 'assistant') return false;
  return Object.entries(raw).some(
    ([key, value]) =>
      STATUS.test(normalizeName(key)) && typeof value === 'string' && UNFINISHED.test(normalizeName(value)),
  );
}

interface Reply {
  readonly message: Message;
  readonly beganAt: number;
  readonly changedAt: number;
  /** For a reply that others have passed: the message before it. */
  readonly passed?: { readonly after: Cursor };
}

/**
 * The replies of a session that the agent still writes. Each holds what follows it, until it is whole or has not changed
 * for half a minute. Then it is shown as it is or, while it has no text, passed by the others, and shown later.
 */
export class Unfinished {
  private readonly replies = new Map<string, Reply>();

  /** Whether the last reading ended at a reply that is not shown yet. */
  isHolding = false;

  /** Where to read again a reply that others have passed. */
  passed(now: number): Reply['passed'] {
    return [...this.replies.values()].find(({ beganAt, passed }) => passed && now - beganAt < 2 * MAX_RUN_MS)?.passed;
  }

  /**
   * Takes messages that were not shown, oldest first.
   * @param cursor the message before them @returns what to show of them now
   */
  release(messages: readonly Message[], cursor: Cursor, now: number): readonly Message[] {
    const released: Message[] = [];
    this.isHolding = false;
    let after = cursor;
    for (const message of messages) {
      const state = this.judge(message, after, now);
      this.isHolding ||= state === 'held';
      if (state === 'whole' && !this.isHolding) {
        this.replies.delete(message.message_id);
        released.push(message);
      }
      after = message.message_id;
    }
    return released;
  }

  private judge(message: Message, after: Cursor, now: number): 'whole' | 'held' | 'passed' {
    const { message_id, text } = message;
    const known = this.replies.get(message_id) ?? { message, beganAt: createdAt(message) || now, changedAt: now };
    if (!isUnfinished(message) || now - known.beganAt >= MAX_RUN_MS) return 'whole';
    const changedAt = known.message.text === text ? known.changedAt : now;
    const isHeld = now - changedAt < MAX_HELD_MS;
    const isBlank = (text ?? '').trim() === '';
    this.replies.set(message_id, { ...known, message, changedAt, ...(isBlank && !isHeld && { passed: { after } }) });
    return isHeld ? 'held' : isBlank ? 'passed' : 'whole';
  }
}
