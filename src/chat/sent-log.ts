import { hash } from 'node:crypto';
import type { NewMessage } from '../api/calls.ts';
import type { Places } from './places.ts';

const KEY_BYTES = 12;

function keyOf(origin: string, { source_id, session_id, external_message_id, text }: NewMessage): string {
  const content = JSON.stringify([origin, source_id, session_id, external_message_id, text]);
  return hash('sha256', content, 'buffer').toString('hex', 0, KEY_BYTES);
}

/**
 * The messages that the service acknowledged, a line each: a hash of the message, and its message_id. It saves requests: what
 * it lacks is sent again under the same external id, and so registered once. A torn line is ignored for that reason.
 */
export class SentLog {
  private readonly places: Places;
  private readonly sent = new Map<string, string>();

  /** @throws LocalError if it cannot be read */
  constructor(places: Places) {
    this.places = places;
    for (const [, key = '', id = ''] of places.readSent().matchAll(/^([\da-f]{24}) (.+)$/gm)) this.sent.set(key, id);
  }

  /** Returns the message_id of an acknowledged message; undefined for any other message. */
  find(message: NewMessage): string | undefined {
    return this.sent.get(keyOf(this.places.origin, message));
  }

  /** Records an acknowledged message, and that its session exists. */
  async add(message: NewMessage, messageId: string): Promise<void> {
    const key = keyOf(this.places.origin, message);
    this.sent.set(key, messageId);
    await this.places.addSent(`${key} ${messageId}`);
    await this.places.remember(message);
  }
}
