import type { Clock } from '../clock.ts';
import { appendLines, encodeLine, type Redact, refuseSecret } from './append.ts';
import { type CheckpointFile, openCheckpointFile, readCheckpointFile } from './checkpoint-file.ts';
import { readLog } from './file-store.ts';
import { encodeRecord, fieldText, isText, type LogRecord, type NewRecord, recordHead, type Stamp } from './record.ts';
import { type SessionRef, sessionKey } from './session-ref.ts';

/** Where the tail of a session ended. Contains only ids, no message text. */
export interface SessionCheckpoint {
  /** The last message written to the output. */
  readonly message_id: string;
  /** The messages written just before it, oldest first, because a service may send them again. */
  readonly recent: readonly string[];
}

/** A session at a service. */
interface TailedSession extends SessionRef {
  /** The service: origin and base path. */
  readonly origin: string;
}

export const TAIL_TYPE = 'tail';
const MAX_RECENT = 16;
/** The minimum interval between records of a session in the state file, which only grows. */
const LOG_INTERVAL_MS = 5_000;

/** Returns the state file record of a checkpoint. */
export function createCheckpointRecord(
  { origin, source_id, session_id }: TailedSession,
  checkpoint: SessionCheckpoint,
  stamp: Stamp,
): NewRecord {
  const { message_id, recent } = checkpoint;
  const fields = { origin, source_id, session_id, message_id, recent };
  return { ...recordHead(TAIL_TYPE, stamp), ...fields };
}

function fileKey({ origin, source_id, session_id }: TailedSession): string {
  return JSON.stringify([origin, source_id, session_id]);
}

function decodeCheckpoint({ message_id, recent }: LogRecord): SessionCheckpoint | undefined {
  if (!isText(message_id)) return undefined;
  return { message_id, recent: Array.isArray(recent) && recent.every(isText) ? recent : [] };
}

interface DatedCheckpoint {
  /** ISO 8601. */
  readonly at: string;
  readonly checkpoint: SessionCheckpoint;
}

function decodeRecord(record: LogRecord, origin: string): (DatedCheckpoint & { readonly key: string }) | undefined {
  const { type, at, source_id, session_id } = record;
  if (type !== TAIL_TYPE || record.origin !== origin || !isText(source_id) || !isText(session_id)) return undefined;
  const checkpoint = decodeCheckpoint(record);
  return checkpoint && { at, checkpoint, key: sessionKey({ source_id, session_id }) };
}

async function readFromLog(
  path: string,
  origin: string,
  sessions: readonly SessionRef[],
): Promise<ReadonlyMap<string, DatedCheckpoint>> {
  const found = new Map<string, DatedCheckpoint>();
  const sources = new Set(sessions.map(({ source_id }) => fieldText('source_id', source_id)));
  for await (const entry of readLog(path, { containing: [...sources] })) {
    const decoded = entry.kind === 'record' ? decodeRecord(entry.record, origin) : undefined;
    if (decoded) found.set(decoded.key, decoded);
  }
  return found;
}

async function readFromFile(path: string, session: TailedSession): Promise<DatedCheckpoint | undefined> {
  const record = await readCheckpointFile(path, fileKey(session));
  const decoded = record && decodeRecord(record, session.origin);
  return decoded?.key === sessionKey(session) ? decoded : undefined;
}

/**
 * Returns the latest checkpoint of each session, by its key (see `sessionKey`). Sessions that were never followed have no
 * entry.
 * @throws LocalError if a file cannot be read
 */
export async function readCheckpoints(
  path: string,
  origin: string,
  sessions: readonly SessionRef[],
): Promise<ReadonlyMap<string, SessionCheckpoint>> {
  const checkpoints = new Map<string, SessionCheckpoint>();
  const logged = await readFromLog(path, origin, sessions);
  for (const session of sessions) {
    const key = sessionKey(session);
    const log = logged.get(key);
    const file = await readFromFile(path, { origin, ...session });
    // The state file may come from another machine that followed the session more recently.
    const latest = file && (!log || file.at >= log.at) ? file : log;
    if (latest) checkpoints.set(key, latest.checkpoint);
  }
  return checkpoints;
}

export interface CheckpointDeps {
  /** The state file. */
  readonly path: string;
  readonly clock: Clock;
  readonly newId: Stamp['newId'];
  /** Replaces secrets; a record that contains one is refused. */
  readonly redact: Redact;
  /** Called at most once, if a checkpoint cannot be written. */
  readonly onError: (error: unknown) => void;
}

/**
 * Records the progress of a command's tails. Each message updates the session's checkpoint file. The state file, which
 * only grows and may move between machines, gets at most one record per session every five seconds, and one at the end.
 */
export class TailCheckpoint {
  private readonly deps: CheckpointDeps;
  private readonly origin: string;
  private readonly current: Map<string, SessionCheckpoint>;
  /** Sessions whose checkpoint is not in the state file yet, by key. */
  private readonly unlogged = new Map<string, SessionRef>();
  private readonly files = new Map<string, CheckpointFile>();
  private readonly closing = new AbortController();
  private loggedAt: number | undefined;
  private logging: Promise<void> | undefined;
  private fileWrites: Promise<void> = Promise.resolve();
  private stampedAt = 0;
  private readonly broken = { log: false, files: false };

  /** @param checkpoints of earlier runs, by key */
  constructor(deps: CheckpointDeps, origin: string, checkpoints: ReadonlyMap<string, SessionCheckpoint>) {
    this.deps = deps;
    this.origin = origin;
    this.current = new Map(checkpoints);
  }

  /**
   * Records that a message was written to the output. Once this resolves, the record survives `kill -9`; a power failure may
   * lose the last few seconds.
   */
  async record(session: SessionRef, messageId: string): Promise<void> {
    const key = sessionKey(session);
    const before = this.current.get(key);
    const recent = before ? [...before.recent, before.message_id].slice(-MAX_RECENT) : [];
    this.current.set(key, { message_id: messageId, recent });
    this.unlogged.set(key, session);
    this.fileWrites = this.fileWrites.then(() => this.attempt('files', () => this.writeFile(session)));
    this.startLogging();
    await this.fileWrites;
  }

  /**
   * Writes pending checkpoints to the state file and resolves once they are on disk. Always call it, even after a
   * failure.
   */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all([this.logging, this.fileWrites]);
    await this.attempt('log', () => this.appendToLog());
    for (const file of this.files.values()) await file.close();
  }

  /** Never decreases: if the clock is set back, a later record must not look older. */
  private readonly now = (): number => {
    this.stampedAt = Math.max(this.stampedAt, this.deps.clock.now());
    return this.stampedAt;
  };

  private async writeFile(ref: SessionRef): Promise<void> {
    const key = sessionKey(ref);
    const checkpoint = this.current.get(key);
    if (!checkpoint) return;
    const { path, newId, redact } = this.deps;
    const session = { origin: this.origin, ...ref };
    const file = this.files.get(key) ?? (await openCheckpointFile(path, fileKey(session)));
    this.files.set(key, file);
    // If even the shortened record does not fit, only the state file records the checkpoint.
    for (const shortened of [checkpoint, { ...checkpoint, recent: [] }]) {
      const record = createCheckpointRecord(session, shortened, { now: this.now, newId });
      const line = encodeRecord(record);
      refuseSecret(line, redact);
      if (await file.write(line)) return;
    }
    // Its record must be later than the one that stays in the file, also within a millisecond.
    this.stampedAt += 1;
  }

  private async appendToLog(): Promise<void> {
    const { path, clock, newId, redact } = this.deps;
    this.loggedAt = clock.now();
    const lines = [...this.unlogged].flatMap(([key, ref]) => {
      const checkpoint = this.current.get(key);
      if (!checkpoint) return [];
      const session = { origin: this.origin, ...ref };
      return [encodeLine(createCheckpointRecord(session, checkpoint, { now: this.now, newId }), path, redact)];
    });
    this.unlogged.clear();
    if (lines.length > 0) await appendLines(path, lines);
  }

  private startLogging(): void {
    if (this.broken.log || this.closing.signal.aborted) return;
    this.logging ??= this.attempt('log', () => this.logPeriodically()).finally(() => {
      this.logging = undefined;
      if (this.unlogged.size > 0) this.startLogging();
    });
  }

  private async logPeriodically(): Promise<void> {
    const { signal } = this.closing;
    while (this.unlogged.size > 0 && !signal.aborted) {
      const waitMs = this.logDelay();
      if (waitMs > 0) await this.deps.clock.sleep(waitMs, signal).catch(() => undefined);
      if (!signal.aborted) await this.appendToLog();
    }
  }

  private logDelay(): number {
    const elapsed = this.deps.clock.now() - (this.loggedAt ?? Number.NEGATIVE_INFINITY);
    // Do not wait for a clock that was set back to catch up.
    return elapsed < 0 ? 0 : Math.max(0, LOG_INTERVAL_MS - elapsed);
  }

  private async attempt(target: keyof typeof this.broken, write: () => Promise<void>): Promise<void> {
    if (this.broken[target]) return;
    try {
      await write();
    } catch (error) {
      const isFirst = !this.broken.log && !this.broken.files;
      this.broken[target] = true;
      if (isFirst) this.deps.onError(error);
    }
  }
}
