import { hash } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { NewMessage } from '../api/calls.ts';
import { readIfExists, toLocalError } from './places.ts';

const KEY_BYTES = 12;

/**
 * The messages that the service acknowledged, a line each: a hash of the message, and its message_id. It saves requests: what
 * it lacks is sent again under the same external id, and so registered once. A torn line is ignored for that reason.
 */
export class SentLog {
  private readonly path: string;
  private readonly origin: string;
  private readonly sent = new Map<string, string>();

  /** @param stateDirectory the directory of the local state @param origin the base URL of the service */
  constructor(stateDirectory: string, origin: string) {
    this.path = join(stateDirectory, 'chat', 'sent.log');
    this.origin = origin;
  }

  /** Reads what earlier runs sent. @throws LocalError */
  async read(): Promise<void> {
    const text = await readIfExists(this.path, () => readFile(this.path, 'utf8'));
    for (const [, key = '', id = ''] of (text ?? '').matchAll(/^([\da-f]{24}) (.+)$/gm)) this.sent.set(key, id);
  }

  /** Returns the message_id of an acknowledged message; undefined for any other message. */
  find(message: NewMessage): string | undefined {
    return this.sent.get(this.keyOf(message));
  }

  /** Records an acknowledged message. @throws LocalError */
  async add(message: NewMessage, messageId: string): Promise<void> {
    const key = this.keyOf(message);
    this.sent.set(key, messageId);
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      // The newline comes first, too, so that a torn line before it does not spoil this one.
      appendFileSync(this.path, `\n${key} ${messageId}\n`, { mode: 0o600 });
    } catch (error) {
      throw toLocalError(this.path, 'written', error);
    }
  }

  private keyOf({ source_id, session_id, external_message_id, text }: NewMessage): string {
    const content = JSON.stringify([this.origin, source_id, session_id, external_message_id, text]);
    return hash('sha256', content, 'buffer').toString('hex', 0, KEY_BYTES);
  }
}
