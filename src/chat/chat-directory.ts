import { hash, randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Http } from '../api/http.ts';
import { describeFileError, LocalError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { stateLocation } from '../state/location.ts';
import { refuseSecret } from '../state/log.ts';
import type { ChatContext } from './session.ts';

function readIfExists<Content>(path: string, read: (path: string) => Content): Content | undefined {
  try {
    return read(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new LocalError(`${path} cannot be read.`, { why: describeFileError(error), cause: error });
  }
}

/**
 * What this machine keeps of the conversations with a service, in `chat/` beside the state: ids, and no text. Reading
 * throws LocalError. A write that fails is a warning, and the last one: what was sent or shown stays so.
 */
export class ChatDirectory {
  /** The base URL of the service. */
  readonly origin: string;
  private readonly path: string;
  private readonly context: Pick<ChatContext, 'redactor' | 'warn'>;
  private isRecording = true;

  constructor(origin: string, path: string, context: Pick<ChatContext, 'redactor' | 'warn'>) {
    this.origin = origin;
    this.path = path;
    this.context = context;
  }

  /** Returns what stands for something of the service in a file, or its name. */
  digest(parts: readonly string[], length: number): string {
    return hash('sha256', JSON.stringify([this.origin, ...parts]), 'hex').slice(0, length);
  }

  names(): readonly string[] {
    return readIfExists(this.path, (path) => readdirSync(path)) ?? [];
  }

  has(name: string): boolean {
    return existsSync(join(this.path, name));
  }

  /** Returns the text of a file; an empty one if there is none. */
  read(name: string): string {
    return readIfExists(join(this.path, name), (file) => readFileSync(file, 'utf8')) ?? '';
  }

  append(name: string, text: string): Promise<void> {
    return this.attempt(() => this.write(name, text));
  }

  /** Replaces a file: after a crash, it has the text before or this one. */
  replace(name: string, text: () => string): Promise<void> {
    return this.attempt(() => {
      const temporary = `${name}.${randomUUID()}.tmp`;
      mkdirSync(this.path, { recursive: true, mode: 0o700 });
      this.write(temporary, text());
      renameSync(join(this.path, temporary), join(this.path, name));
    });
  }

  /** @throws InputError if a text contains a secret */
  check(text: string): void {
    refuseSecret(text, this.context.redactor.redact);
  }

  private async attempt(write: () => void): Promise<void> {
    if (!this.isRecording) return;
    try {
      write();
    } catch (error) {
      this.isRecording = false;
      const consequence = 'What follows is not recorded: `chat watch` and --resume do not know it.';
      await this.context.warn(`${this.path} cannot be written: ${describeFileError(error)}. ${consequence}`);
    }
  }

  /** Synchronous: it reaches only the page cache. */
  private write(name: string, text: string): void {
    this.check(text);
    appendFileSync(join(this.path, name), text, { mode: 0o600 });
  }
}

/** Opens the directory. @throws UsageError if the address of the state is invalid */
export function openChatDirectory(context: ChatContext, { baseUrl }: Http): ChatDirectory {
  const { path } = stateLocation(context);
  return new ChatDirectory(baseUrl, join(dirname(path), 'chat'), context);
}
