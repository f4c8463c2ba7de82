import type { NewMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { type ChatDirectory, digest } from './chat-directory.ts';

const NAME = 'sent.log';

/**
 * The messages that a service acknowledged to `send --rows`. It only saves requests: what it lacks is sent again under
 * the same external id, and so registered once.
 */
export class SentLog {
  private readonly directory: ChatDirectory;
  private readonly http: Pick<Http, 'baseUrl'>;
  private sent: Map<string, string> | undefined;

  constructor(directory: ChatDirectory, http: Pick<Http, 'baseUrl'>) {
    this.directory = directory;
    this.http = http;
  }

  /** Returns the message_id of an acknowledged message; undefined for any other. @throws LocalError if the log cannot be read */
  find(message: NewMessage): string | undefined {
    const lines = () => this.directory.read(NAME).matchAll(/^([\da-f]{24}) (.+)$/gm);
    this.sent ??= new Map(Array.from(lines(), ([, key = '', id = '']) => [key, id]));
    return this.sent.get(this.keyOf(message));
  }

  async add(message: NewMessage, messageId: string): Promise<void> {
    const key = this.keyOf(message);
    this.sent?.set(key, messageId);
    // The newline comes first, too, so that a torn line before it does not spoil this one.
    await this.directory.append(NAME, `\n${key} ${messageId}\n`);
  }

  private keyOf({ source_id, session_id, external_message_id, text }: NewMessage): string {
    return digest(this.http, [source_id, session_id, external_message_id, text], 24);
  }
}
