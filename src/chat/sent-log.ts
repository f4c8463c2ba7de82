import { hash } from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NewMessage } from '../api/calls.ts';
import { errorCode } from '../platform/error-code.ts';
import { makeDirectories } from '../platform/files.ts';
import { toLocalError } from './places.ts';

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
  private readonly path: string;
  private readonly file: FileHandle | undefined;
  private readonly origin: string;
  private readonly sent: Map<string, string | null>;

  private constructor(path: string, file: FileHandle | undefined, origin: string, sent: Map<string, string | null>) {
    this.path = path;
    this.file = file;
    this.origin = origin;
    this.sent = sent;
  }

  /**
   * Opens the log of this machine.
   * @param stateDirectory the directory of the local state
   * @param origin the base URL of the service
   * @throws LocalError
   */
  static async open(stateDirectory: string, origin: string, access: 'read' | 'write'): Promise<SentLog> {
    const path = join(stateDirectory, 'chat', 'sent.log');
    const isWritable = access === 'write';
    try {
      if (isWritable) await makeDirectories(join(stateDirectory, 'chat'));
      const text = await readFile(path, 'utf8').catch((error: unknown) => {
        if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return '';
        throw error;
      });
      const lines = text.split('\n').map((line) => /^([\da-f]{24}) (.*)$/.exec(line) ?? []);
      const sent = new Map(lines.flatMap(([, key, id]) => (key === undefined ? [] : [[key, id || null]])));
      const file = isWritable ? await open(path, 'a', 0o600) : undefined;
      return new SentLog(path, file, origin, sent);
    } catch (error) {
      throw toLocalError(path, isWritable ? 'written' : 'read', error);
    }
  }

  /** Returns the message_id of an acknowledged message (null if it is not known); undefined for any other message. */
  find(message: NewMessage): string | null | undefined {
    return this.sent.get(keyOf(this.origin, message));
  }

  /** @throws LocalError */
  async add(message: NewMessage, messageId: string | null): Promise<void> {
    const key = keyOf(this.origin, message);
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
}
