import { hash, randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories } from '../config/make-directories.ts';
import { isJsonObject } from '../contract/json.ts';
import { describeFileError, errorCode, InputError, LocalError } from '../errors.ts';
import { type SessionRef, sessionKey } from './session.ts';

/** Enough to find a message that became visible after the one at which a tail ended. */
const MAX_IDS = 100;

/** A session that this machine has sent messages to, or read. */
interface Place extends SessionRef {
  /** The service: origin and base path. */
  readonly origin: string;
  /** The last messages that a tail showed, oldest first; none if no tail did. */
  readonly ids: readonly string[];
}

function decodePlace(text: string): Place | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { origin, source_id, session_id, ids } = value;
  const isPlace = [origin, source_id, session_id].every((each) => typeof each === 'string') && Array.isArray(ids);
  if (!isPlace || !ids.every((id) => typeof id === 'string')) return undefined;
  return { origin: String(origin), source_id: String(source_id), session_id: String(session_id), ids };
}

function toLocalError(path: string, action: 'read' | 'written', error: unknown): LocalError {
  return new LocalError(`${path} cannot be ${action}.`, { why: describeFileError(error), cause: error });
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
   * Records that messages were shown. The file is replaced, so that a crash leaves the place before or this one.
   * @throws LocalError if it cannot be written, InputError if an id contains a secret
   */
  async add(ref: SessionRef, ids: readonly string[]): Promise<void> {
    const path = this.pathOf(ref);
    const key = sessionKey(ref);
    const all = [...(this.known.get(key) ?? []), ...ids].slice(-MAX_IDS);
    const place: Place = { origin: this.origin, source_id: ref.source_id, session_id: ref.session_id, ids: all };
    const text = `${JSON.stringify(place)}\n`;
    this.refuseSecret(text);
    const temporary = `${path}.${randomUUID()}.tmp`;
    try {
      if (this.known.size === 0) await makeDirectories(this.directory);
      // Synchronous: it only reaches the page cache, which takes a fraction of the time of asynchronous calls.
      writeFileSync(temporary, text, { mode: 0o600 });
      renameSync(temporary, path);
      this.known.set(key, all);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw toLocalError(path, 'written', error);
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
