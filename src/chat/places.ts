import { hash, randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, renameSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject } from '../contract/json.ts';
import { describeFileError, InputError, LocalError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { makeDirectories } from '../platform/files.ts';
import { type SessionRef, sessionKey } from './session.ts';

/** Enough to find a message that became visible after the one at which a tail ended. */
const MAX_IDS = 100;
/** After so many, the file is replaced by one with the last ids. */
const MAX_APPENDED = 1_000;

/** A session that this machine has sent messages to, or read. */
interface Place extends SessionRef {
  /** The service: origin and base path. */
  readonly origin: string;
  /** The last messages that a tail showed, oldest first; none if no tail did. */
  readonly ids: readonly string[];
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
  if (!isJsonObject(value)) return undefined;
  const { origin, source_id, session_id, ids } = value;
  const isPlace = [origin, source_id, session_id].every((each) => typeof each === 'string') && Array.isArray(ids);
  if (!isPlace) return undefined;
  // The last line may be torn.
  const all = [...ids, ...appended.map(parse)].filter((id) => typeof id === 'string').slice(-MAX_IDS);
  return { origin: String(origin), source_id: String(source_id), session_id: String(session_id), ids: all };
}

/** The error of a file that cannot be used. */
export function toLocalError(path: string, action: 'read' | 'written', error: unknown): LocalError {
  return new LocalError(`${path} cannot be ${action}.`, { why: describeFileError(error), cause: error });
}

/**
 * Appends to a file that exists. Synchronous: it only reaches the page cache, which takes a fraction of the time of asynchronous
 * calls. @returns false if there is no such file
 */
function append(path: string, text: string): boolean {
  let file: number;
  try {
    file = openSync(path, constants.O_WRONLY | constants.O_APPEND);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
  try {
    writeFileSync(file, text);
    return true;
  } finally {
    closeSync(file);
  }
}

/**
 * The sessions of a service that this machine has sent messages to, or read, and where the tail of each ended: one file a
 * session, which holds ids and no text.
 */
export class Places {
  private readonly directory: string;
  private readonly origin: string;
  private readonly redact: (text: string) => string;
  /** By key (see `sessionKey`); a session that has a file, but no known ids, has an empty list. */
  private readonly known = new Map<string, readonly string[]>();
  /** How many ids were appended to each file that this object has written. */
  private readonly appended = new Map<string, number>();

  /**
   * @param stateDirectory the directory of the local state
   * @param origin the base URL of the service
   * @param redact a file that it would change is not written: an id contains a secret
   */
  constructor(stateDirectory: string, origin: string, redact: (text: string) => string) {
    this.directory = join(stateDirectory, 'chat');
    this.origin = origin;
    this.redact = redact;
  }

  /** Returns the last ids that a tail of the session showed, oldest first. @throws LocalError if they cannot be read */
  async read(ref: SessionRef): Promise<readonly string[]> {
    const path = this.pathOf(ref);
    try {
      const ids = decodePlace(await readFile(path, 'utf8'))?.ids;
      if (ids) this.known.set(sessionKey(ref), ids);
      return ids ?? [];
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return [];
      throw toLocalError(path, 'read', error);
    }
  }

  /** Returns every session. @throws LocalError if the directory cannot be read */
  async list(): Promise<readonly SessionRef[]> {
    try {
      const names = (await readdir(this.directory)).filter((name) => name.endsWith('.json')).sort();
      // A file may be replaced meanwhile, but is never missing.
      const texts = await Promise.all(names.map((name) => readFile(join(this.directory, name), 'utf8')));
      const places = texts.flatMap((text) => decodePlace(text) ?? []).filter(({ origin }) => origin === this.origin);
      return places.map(({ source_id, session_id }) => ({ source_id, session_id }));
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return [];
      throw toLocalError(this.directory, 'read', error);
    }
  }

  /** Records that the session exists, without a place. @throws as `add` */
  async remember(ref: SessionRef): Promise<void> {
    if (!this.known.has(sessionKey(ref)) && (await this.read(ref)).length === 0) await this.add(ref, []);
  }

  /**
   * Records that messages were shown. The file is replaced at first, and then appended to, which costs a tenth. A crash leaves
   * the place before or this one.
   * @throws LocalError if it cannot be written, InputError if an id contains a secret
   */
  async add(ref: SessionRef, ids: readonly string[]): Promise<void> {
    const path = this.pathOf(ref);
    const key = sessionKey(ref);
    const all = [...(this.known.get(key) ?? []), ...ids].slice(-MAX_IDS);
    const lines = ids.map((id) => `${JSON.stringify(id)}\n`).join('');
    this.refuseSecret(lines);
    const count = (this.appended.get(key) ?? MAX_APPENDED) + ids.length;
    try {
      if (count <= MAX_APPENDED && append(path, lines)) this.appended.set(key, count);
      else {
        await this.replace(path, {
          origin: this.origin,
          source_id: ref.source_id,
          session_id: ref.session_id,
          ids: all,
        });
        this.appended.set(key, 0);
      }
      this.known.set(key, all);
    } catch (error) {
      if (error instanceof InputError) throw error;
      throw toLocalError(path, 'written', error);
    }
  }

  private async replace(path: string, place: Place): Promise<void> {
    const text = `${JSON.stringify(place)}\n`;
    this.refuseSecret(text);
    const temporary = `${path}.${randomUUID()}.tmp`;
    try {
      if (this.known.size === 0) await makeDirectories(this.directory);
      writeFileSync(temporary, text, { mode: 0o600 });
      renameSync(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  /** Checks a session before anything is sent to it. @throws InputError if an id contains a secret */
  check({ source_id, session_id }: SessionRef): void {
    this.refuseSecret(JSON.stringify([source_id, session_id]));
  }

  private refuseSecret(text: string): void {
    if (this.redact(text) === text) return;
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
