import { hash, randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isJsonObject } from '../contract/json.ts';
import { describeFileError, InputError, LocalError, PartnerctlError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { type SessionRef, sessionKey } from './session.ts';

/** Enough to find a message that became visible after the one at which a tail ended. */
const MAX_IDS = 100;

/** A session of the service with this base URL, and the last messages that a tail showed, oldest first. */
interface Place extends SessionRef {
  readonly origin: string;
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
    if (errorCode(error) === 'ENOENT') return undefined;
    throw toLocalError(path, 'read', error);
  }
}

/** The error of a file that cannot be used. */
export function toLocalError(path: string, action: 'read' | 'written', error: unknown): LocalError {
  return new LocalError(`${path} cannot be ${action}.`, { why: describeFileError(error), cause: error });
}

function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${randomUUID()}.tmp`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(temporary, text, { mode: 0o600 });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
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
  /** The ids that were read from files, by key (see `sessionKey`). */
  private readonly known = new Map<string, readonly string[]>();
  /** The keys of the sessions whose files this object has replaced. */
  private readonly replaced = new Set<string>();

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
    const key = sessionKey(ref);
    if (this.known.has(key) || this.replaced.has(key)) return;
    await this.record(async () => {
      await this.read(ref);
      if (!this.known.has(key)) await this.write(ref, []);
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
      const consequence = 'What follows is not recorded: `chat watch` and --resume do not know it.';
      await this.output.warn(`${error.message} ${consequence}`);
    }
  }

  /** Checks a session before anything is sent to it. @throws InputError if an id contains a secret */
  check({ source_id, session_id }: SessionRef): void {
    this.refuseSecret(JSON.stringify([source_id, session_id]));
  }

  /** Replaces the file at first, and then appends to it, which costs a tenth. Synchronous: it reaches only the page cache. */
  private async write(ref: SessionRef, ids: readonly string[]): Promise<void> {
    const key = sessionKey(ref);
    const path = this.pathOf(ref);
    const isReplaced = this.replaced.has(key);
    const lines = isReplaced ? ids : [this.placeOf(ref, ids)];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    this.refuseSecret(text);
    try {
      if (isReplaced) appendFileSync(path, text);
      else replaceFile(path, text);
    } catch (error) {
      throw toLocalError(path, 'written', error);
    }
    this.replaced.add(key);
  }

  private placeOf({ source_id, session_id }: SessionRef, ids: readonly string[]): Place {
    const known = this.known.get(sessionKey({ source_id, session_id })) ?? [];
    return { origin: this.origin, source_id, session_id, ids: [...known, ...ids].slice(-MAX_IDS) };
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
