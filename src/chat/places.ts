import { hash, randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { NewMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { isJsonObject } from '../contract/json.ts';
import type { SessionRef } from '../contract/messages.ts';
import { describeFileError, LocalError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { refuseSecret } from '../state/log.ts';
import { parseJsonText } from '../yaml/text.ts';
import type { ChatContext } from './session.ts';

/** Enough to find a message that became visible after the one at which a tail ended. */
const MAX_IDS = 100;
const SENT_LOG = 'sent.log';

/**
 * Reads the file of a session: in its first line the base URL of the service, the session, and the last messages that a
 * tail showed, oldest first; in each further line one more of them. The last line may be torn.
 */
function decodePlace(text: string) {
  const [place, ...appended] = text.split('\n').map((line) => {
    const parsed = parseJsonText(line);
    return 'value' in parsed ? parsed.value : undefined;
  });
  if (!isJsonObject(place) || !Array.isArray(place.ids)) return undefined;
  const ref: SessionRef = { source_id: String(place.source_id), session_id: String(place.session_id) };
  const ids = [...place.ids, ...appended].filter((id) => typeof id === 'string').slice(-MAX_IDS);
  return { origin: place.origin, ref, ids };
}

function readIfExists<Content>(path: string, read: (path: string) => Content): Content | undefined {
  try {
    return read(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new LocalError(`${path} cannot be read.`, { why: describeFileError(error), cause: error });
  }
}

function readText(path: string): string {
  return readIfExists(path, (file) => readFileSync(file, 'utf8')) ?? '';
}

/**
 * What this machine keeps of the conversations with a service, in `chat/` beside the state: ids, and no text. A
 * session has a file that says where its tail ended. A write that fails is a warning: what was sent or shown stays so.
 */
export class Places {
  private readonly context: Pick<ChatContext, 'redact' | 'warn'>;
  private readonly directory: string;
  private readonly origin: string;
  /** The files that this object has written. A tail appends to one for each message. */
  private readonly written = new Set<string>();
  private sent: Map<string, string> | undefined;
  private isRecording = true;

  /** @param directory that of the local state @param origin the base URL of the service */
  constructor(context: Pick<ChatContext, 'redact' | 'warn'>, directory: string, origin: string) {
    this.context = context;
    this.directory = join(directory, 'chat');
    this.origin = origin;
  }

  /** Returns the last ids that a tail of the session showed, oldest first. @throws LocalError if they cannot be read */
  read(ref: SessionRef): readonly string[] {
    return decodePlace(readText(this.pathOf(ref)))?.ids ?? [];
  }

  /** Returns every session. @throws LocalError if they cannot be read */
  list(): readonly SessionRef[] {
    const names = readIfExists(this.directory, (path) => readdirSync(path)) ?? [];
    return names.sort().flatMap((name) => {
      const place = name.endsWith('.json') ? decodePlace(readText(join(this.directory, name))) : undefined;
      return place?.origin === this.origin ? [place.ref] : [];
    });
  }

  async remember(ref: SessionRef): Promise<void> {
    if (!existsSync(this.pathOf(ref))) await this.add(ref, []);
  }

  /**
   * Records that messages were shown. A crash leaves the place before or this one. The file is replaced at first, and
   * then appended to, which costs a tenth.
   */
  async add(ref: SessionRef, ids: readonly string[]): Promise<void> {
    const path = this.pathOf(ref);
    await this.attempt(() => {
      if (this.written.has(path)) {
        this.append(path, ids.map((id) => `${JSON.stringify(id)}\n`).join(''));
        return;
      }
      const { source_id, session_id } = ref;
      const place = { origin: this.origin, source_id, session_id, ids: [...this.read(ref), ...ids] };
      const temporary = `${path}.${randomUUID()}.tmp`;
      mkdirSync(this.directory, { recursive: true, mode: 0o700 });
      this.append(temporary, `${JSON.stringify(place)}\n`);
      renameSync(temporary, path);
      this.written.add(path);
    });
  }

  /**
   * Returns the message_id of a message that the service acknowledged to `send --rows`; undefined for any other. It
   * only saves requests: what the log lacks is sent again under the same external id, and so registered once.
   * @throws LocalError if the log cannot be read
   */
  findSent(message: NewMessage): string | undefined {
    const lines = () => readText(join(this.directory, SENT_LOG)).matchAll(/^([\da-f]{24}) (.+)$/gm);
    this.sent ??= new Map(Array.from(lines(), ([, key = '', id = '']) => [key, id]));
    return this.sent.get(this.keyOf(message));
  }

  /** Records an acknowledged message, and that its session exists. */
  async addSent(message: NewMessage, messageId: string): Promise<void> {
    const key = this.keyOf(message);
    this.sent?.set(key, messageId);
    await this.remember(message);
    // The newline comes first, too, so that a torn line before it does not spoil this one.
    await this.attempt(() => this.append(join(this.directory, SENT_LOG), `\n${key} ${messageId}\n`));
  }

  /** Refuses a session before anything is sent to it. @throws InputError if an id contains a secret */
  check({ source_id, session_id }: SessionRef): void {
    refuseSecret(JSON.stringify([source_id, session_id]), this.context.redact);
  }

  private async attempt(write: () => void): Promise<void> {
    if (!this.isRecording) return;
    try {
      write();
    } catch (error) {
      this.isRecording = false;
      const consequence = 'What follows is not recorded: `chat watch` and --resume do not know it.';
      await this.context.warn(`${this.directory} cannot be written: ${describeFileError(error)}. ${consequence}`);
    }
  }

  /** Synchronous: it reaches only the page cache. */
  private append(path: string, text: string): void {
    refuseSecret(text, this.context.redact);
    appendFileSync(path, text, { mode: 0o600 });
  }

  private pathOf({ source_id, session_id }: SessionRef): string {
    return join(this.directory, `${this.digest([source_id, session_id], 32)}.json`);
  }

  private keyOf({ source_id, session_id, external_message_id, text }: NewMessage): string {
    return this.digest([source_id, session_id, external_message_id, text], 24);
  }

  private digest(parts: readonly string[], length: number): string {
    return hash('sha256', JSON.stringify([this.origin, ...parts]), 'hex').slice(0, length);
  }
}

/**
 * Opens what this machine keeps of the conversations with a service.
 * @param warn where to say that it cannot be written @throws UsageError if the address of the state is invalid
 */
export async function openPlaces(context: ChatContext, http: Http, warn = context.warn): Promise<Places> {
  return new Places({ redact: context.redact, warn }, dirname((await context.stateLocation()).path), http.baseUrl);
}
