import type { Clock } from '../clock.ts';
import { appendRecord } from './append.ts';
import { type CheckpointFile, openCheckpointFile, readCheckpointFile } from './checkpoint-file.ts';
import { readLog } from './log.ts';
import { encodeRecord, fieldText, isText, type LogRecord, type NewRecord, recordHead, type Stamp } from './record.ts';

/** Where the tail of a session ended: only ids, no text. */
export interface SessionCheckpoint {
  /** The last message that was written out. */
  readonly message_id: string;
  /** Messages written shortly before it, oldest first: a service may send them again. */
  readonly recent: readonly string[];
}

/** The source that a command follows. */
export interface TailSource {
  /** The service: origin and base path. */
  readonly origin: string;
  readonly source_id: string;
}

const TYPE = 'tail';
const MAX_RECENT = 16;
/** The state file only grows, so it records a session at most this often. */
const LOG_INTERVAL_MS = 5_000;

/** The record of a checkpoint for the state file. */
export function createCheckpointRecord(
  source: TailSource,
  session_id: string,
  checkpoint: SessionCheckpoint,
  stamp: Stamp,
): NewRecord {
  const { origin, source_id } = source;
  const { message_id, recent } = checkpoint;
  const fields = { origin, source_id, session_id, message_id, recent };
  return { ...recordHead(TYPE, stamp), ...fields };
}

function fileKey({ origin, source_id }: TailSource, session_id: string): string {
  return JSON.stringify([origin, source_id, session_id]);
}

function decodeCheckpoint({ message_id, recent }: LogRecord): SessionCheckpoint | undefined {
  if (!isText(message_id)) return undefined;
  return { message_id, recent: Array.isArray(recent) && recent.every(isText) ? recent : [] };
}

function belongsTo(record: LogRecord, { origin, source_id }: TailSource): boolean {
  return record.type === TYPE && record.origin === origin && record.source_id === source_id;
}

interface DatedCheckpoint {
  /** ISO 8601. */
  readonly at: string;
  readonly checkpoint: SessionCheckpoint;
}

async function readFromLog(path: string, source: TailSource): Promise<ReadonlyMap<string, DatedCheckpoint>> {
  const found = new Map<string, DatedCheckpoint>();
  for await (const entry of readLog(path, { containing: [fieldText('source_id', source.source_id)] })) {
    if (entry.kind !== 'record' || !belongsTo(entry.record, source)) continue;
    const { session_id, at } = entry.record;
    const checkpoint = decodeCheckpoint(entry.record);
    if (checkpoint && isText(session_id)) found.set(session_id, { at, checkpoint });
  }
  return found;
}

async function readFromFile(path: string, source: TailSource, session: string): Promise<DatedCheckpoint | undefined> {
  const record = await readCheckpointFile(path, fileKey(source, session));
  if (!record || !belongsTo(record, source) || record.session_id !== session) return undefined;
  const checkpoint = decodeCheckpoint(record);
  return checkpoint && { at: record.at, checkpoint };
}

/**
 * Reads where the last tails of these sessions ended, by session; sessions that were never followed are left out.
 * @throws LocalError if a file cannot be read
 */
export async function readCheckpoints(
  path: string,
  source: TailSource,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, SessionCheckpoint>> {
  const checkpoints = new Map<string, SessionCheckpoint>();
  const logged = await readFromLog(path, source);
  for (const session of sessions) {
    const log = logged.get(session);
    const file = await readFromFile(path, source, session);
    // The state file may come from another machine, where the session was followed later.
    const latest = file && (!log || file.at >= log.at) ? file : log;
    if (latest) checkpoints.set(session, latest.checkpoint);
  }
  return checkpoints;
}

export interface CheckpointDeps {
  /** The state file. */
  readonly path: string;
  readonly clock: Clock;
  readonly newId: Stamp['newId'];
  /** Called at most once, if a checkpoint cannot be written. */
  readonly onError: (error: unknown) => void;
}

/**
 * Records how far the tails of a command are. Each message goes to the session's checkpoint file. The state file, which
 * only grows and moves between machines, records each session at most every five seconds, and once at the end.
 */
export class TailCheckpoint {
  private readonly deps: CheckpointDeps;
  private readonly source: TailSource;
  private readonly current: Map<string, SessionCheckpoint>;
  private readonly unlogged = new Set<string>();
  private readonly files = new Map<string, CheckpointFile>();
  private readonly closing = new AbortController();
  private loggedAt: number | undefined;
  private logging: Promise<void> | undefined;
  private fileWrites: Promise<void> = Promise.resolve();
  private stampedAt = 0;
  private readonly broken = { log: false, files: false };

  constructor(deps: CheckpointDeps, source: TailSource, checkpoints: ReadonlyMap<string, SessionCheckpoint>) {
    this.deps = deps;
    this.source = source;
    this.current = new Map(checkpoints);
  }

  /**
   * Call this after a message was written out, and not before. Once it resolves, the record survives `kill -9`; after a
   * power failure, the last seconds may be missing.
   */
  async record(sessionId: string, messageId: string): Promise<void> {
    const before = this.current.get(sessionId);
    const recent = before ? [...before.recent, before.message_id].slice(-MAX_RECENT) : [];
    this.current.set(sessionId, { message_id: messageId, recent });
    this.unlogged.add(sessionId);
    this.fileWrites = this.fileWrites.then(() => this.attempt('files', () => this.writeFile(sessionId)));
    this.startLogging();
    await this.fileWrites;
  }

  /** Records what is not in the state file yet. Resolves once it is on disk. Call it at every end, also after a failure. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all([this.logging, this.fileWrites]);
    await this.attempt('log', () => this.appendToLog());
    for (const file of this.files.values()) await file.close();
  }

  /** If the clock is set back, a later record must not look older. */
  private readonly now = (): number => {
    this.stampedAt = Math.max(this.stampedAt, this.deps.clock.now());
    return this.stampedAt;
  };

  private async writeFile(sessionId: string): Promise<void> {
    const checkpoint = this.current.get(sessionId);
    if (!checkpoint) return;
    const { path, newId } = this.deps;
    const file = this.files.get(sessionId) ?? (await openCheckpointFile(path, fileKey(this.source, sessionId)));
    this.files.set(sessionId, file);
    // Only the log takes ids that are too long for the file.
    for (const shortened of [checkpoint, { ...checkpoint, recent: [] }]) {
      const record = createCheckpointRecord(this.source, sessionId, shortened, { now: this.now, newId });
      if (await file.write(encodeRecord(record))) return;
    }
  }

  private async appendToLog(): Promise<void> {
    const { path, clock, newId } = this.deps;
    this.loggedAt = clock.now();
    for (const sessionId of [...this.unlogged]) {
      const checkpoint = this.current.get(sessionId);
      this.unlogged.delete(sessionId);
      if (checkpoint) {
        await appendRecord(path, createCheckpointRecord(this.source, sessionId, checkpoint, { now: this.now, newId }));
      }
    }
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
    // If the clock was set back, do not wait for it to catch up.
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
