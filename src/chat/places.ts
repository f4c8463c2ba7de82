import { hash, randomUUID } from 'node:crypto';
import { appendFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject } from '../contract/json.ts';
import { describeFileError, InputError, LocalError, PartnerctlError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { type SessionRef, sessionKey } from './session.ts';

/** Enough to find a message that became visible after the one at which a tail ended. */
const MAX_IDS = 100;

/** After so many, the file is replaced by one with the last ids. */
const MAX_APPENDED = 1_000;

/** A session that this machine has sent messages to, or read. */
interface Place extends SessionRef {
  /** The base URL of the service. */
  readonly origin: string;
  /** The last messages that a tail showed, oldest first; none if no tail did. */
  readonly ids: readonly string[];
}

interface PlacesOutput {
  /** What it would change is not written: an id contains a secret. */
  redact(text: string): string;
  /** Says that something cannot be recorded. */
  warn(text: string): Promise<void>;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads a file: a place in its first line, and in each further line an id that was appended since. */
function decodePlace(text: string): Place | undefined {
  const [first = '', ...appended] = text.split('\n');
  const value = parse(first);
  if (!isJsonObject(value) || !Array.isArray(value.ids)) return undefined;
  const { origin, source_id, session_id, ids } = value;
  // The last line may be torn.
  const all = [...ids, ...appended.map(parse)].filter((id) => typeof id === 'string').slice(-MAX_IDS);
  return { origin: String(origin), source_id: String(source_id), session_id: String(session_id), ids: all };
}

/** Reads a file. @returns undefined if there is none @throws LocalError */
export async function readIfExists<Content>(path: string, read: () => Promise<Content>): Promise<Content | undefined> {
  try {
    return await read();
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined;
    throw toLocalError(path, 'read', error);
  }
}

/** The error of a file that cannot be used. */
export function toLocalError(path: string, action: 'read' | 'written', error: unknown): LocalError {
  return new LocalError(`${path} cannot be ${action}.`, { why: describeFileError(error), cause: error });
}

/**
 * The sessions of a service that this machine has sent messages to, or read, and where the tail of each ended: one file a
 * session, which holds ids and no text.
 */
export class Places {
  private readonly directory: string;
  private readonly origin: string;
  private readonly output: PlacesOutput;
  private isRecording = true;
  /** The ids in the files, by key (see `sessionKey`). */
  private readonly known = new Map<string, readonly string[]>();
  /** The files that this object has written, by key, and how many ids were appended to each. */
  private readonly written = new Map<string, { readonly path: string; appended: number }>();

  /** @param stateDirectory the directory of the local state @param origin the base URL of the service */
  constructor(stateDirectory: string, origin: string, output: PlacesOutput) {
    this.directory = join(stateDirectory, 'chat');
    this.origin = origin;
    this.output = output;
  }

  /** Returns the last ids that a tail of the session showed, oldest first. @throws LocalError if they cannot be read */
  async read(ref: SessionRef): Promise<readonly string[]> {
    const path = this.pathOf(ref);
    const place = decodePlace((await readIfExists(path, () => readFile(path, 'utf8'))) ?? '');
    if (place) this.known.set(sessionKey(ref), place.ids);
    return place?.ids ?? [];
  }

  /** Returns every session. @throws LocalError if the directory cannot be read */
  async list(): Promise<readonly SessionRef[]> {
    const texts = await readIfExists(this.directory, async () => {
      const names = (await readdir(this.directory)).filter((name) => name.endsWith('.json')).sort();
      // A file may be replaced meanwhile, but is never missing.
      return await Promise.all(names.map((name) => readFile(join(this.directory, name), 'utf8')));
    });
    const places = (texts ?? []).flatMap((text) => decodePlace(text) ?? []);
    return places
      .filter(({ origin }) => origin === this.origin)
      .map(({ source_id, session_id }) => ({ source_id, session_id }));
  }

  /** Records that the session exists, as `record` does. */
  async remember(ref: SessionRef): Promise<void> {
    if (this.known.has(sessionKey(ref))) return;
    await this.record(async () => {
      await this.read(ref);
      if (!this.known.has(sessionKey(ref))) await this.write(ref, []);
    });
  }

  /** Records that messages were shown, as `record` does. A crash leaves the place before or this one. */
  async add(ref: SessionRef, ids: readonly string[]): Promise<void> {
    await this.record(() => this.write(ref, ids));
  }

  /** Records something, unless an earlier record has failed. A failure is a warning: what was sent or shown stays so. */
  async record(action: () => Promise<void>): Promise<void> {
    if (!this.isRecording) return;
    try {
      await action();
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      this.isRecording = false;
      await this.output.warn(
        `${error.message} What follows is not recorded: \`chat watch\` and --resume do not know it, and a repeat of --rows sends it again, without duplicates.`,
      );
    }
  }

  /** Checks a session before anything is sent to it. @throws InputError if an id contains a secret */
  check({ source_id, session_id }: SessionRef): void {
    this.refuseSecret(JSON.stringify([source_id, session_id]));
  }

  /**
   * Replaces the file at first, and then appends to it, which costs a tenth. Synchronous: it only reaches the page cache, which
   * takes a fraction of the time of asynchronous calls.
   */
  private async write(ref: SessionRef, ids: readonly string[]): Promise<void> {
    const key = sessionKey(ref);
    const file = this.written.get(key) ?? { path: this.pathOf(ref), appended: Number.POSITIVE_INFINITY };
    const lines = ids.map((id) => `${JSON.stringify(id)}\n`).join('');
    this.refuseSecret(lines);
    const all = [...(this.known.get(key) ?? []), ...ids].slice(-MAX_IDS);
    const count = file.appended + ids.length;
    try {
      if (count <= MAX_APPENDED) appendFileSync(file.path, lines);
      else await this.replace(file.path, { ...ref, origin: this.origin, ids: all });
    } catch (error) {
      throw error instanceof InputError ? error : toLocalError(file.path, 'written', error);
    }
    file.appended = count <= MAX_APPENDED ? count : 0;
    this.written.set(key, file);
    this.known.set(key, all);
  }

  private async replace(path: string, { origin, source_id, session_id, ids }: Place): Promise<void> {
    const text = `${JSON.stringify({ origin, source_id, session_id, ids })}\n`;
    this.refuseSecret(text);
    const temporary = `${path}.${randomUUID()}.tmp`;
    try {
      if (this.known.size === 0) await mkdir(this.directory, { recursive: true, mode: 0o700 });
      writeFileSync(temporary, text, { mode: 0o600 });
      renameSync(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  }

  private refuseSecret(text: string): void {
    if (this.output.redact(text) === text) return;
    throw new InputError('A secret would be written to the state.', {
      why: 'An id in this command contains the token, or another secret.',
      hint: 'Use an id without it.',
    });
  }

  private pathOf({ source_id, session_id }: SessionRef): string {
    const key = JSON.stringify([this.origin, source_id, session_id]);
    return join(this.directory, `${hash('sha256', key, 'hex').slice(0, 32)}.json`);
  }
}
