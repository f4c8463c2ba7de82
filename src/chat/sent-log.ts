import { hash } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
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
  private readonly sent = new Map<string, string | null>();
  private file: FileHandle | undefined;

  /** @param stateDirectory the directory of the local state @param origin the base URL of the service */
  constructor(stateDirectory: string, origin: string) {
    this.path = join(stateDirectory, 'chat', 'sent.log');
    this.origin = origin;
  }

  /** Reads what earlier runs sent. @throws LocalError */
  async read(): Promise<void> {
    const text = await readIfExists(this.path, () => readFile(this.path, 'utf8'));
    for (const [, key = '', id] of (text ?? '').matchAll(/^([\da-f]{24}) (.*)$/gm)) this.sent.set(key, id || null);
  }

  /** Opens the log for `add`. @throws LocalError */
  async open(): Promise<void> {
    try {
      await mkdir(join(this.path, '..'), { recursive: true, mode: 0o700 });
      this.file = await open(this.path, 'a', 0o600);
    } catch (error) {
      throw toLocalError(this.path, 'written', error);
    }
  }

  /** Returns the message_id of an acknowledged message (null if it is not known); undefined for any other message. */
  find(message: NewMessage): string | null | undefined {
    return this.sent.get(this.keyOf(message));
  }

  /** @throws LocalError */
  async add(message: NewMessage, messageId: string | null): Promise<void> {
    const key = this.keyOf(message);
    this.sent.set(key, messageId);
    try {
      // The newline comes first, too, so that a torn line before it does not spoil this one.
      await this.file?.appendFile(`\n${key} ${messageId ?? ''}\n`);
    } catch (error) {
      throw toLocalError(this.path, 'written', error);
    }
  }

  async close(): Promise<void> {
    await this.file?.close();
  }

  private keyOf({ source_id, session_id, external_message_id, text }: NewMessage): string {
    const content = JSON.stringify([this.origin, source_id, session_id, external_message_id, text]);
    return hash('sha256', content, 'buffer').toString('hex', 0, KEY_BYTES);
  }
}
