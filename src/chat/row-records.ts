import type { Clock } from '../clock.ts';
import { fieldText, isText, isTextOrNull, type LogRecord, randomRecordId, recordHead } from '../state-old/record.ts';
import type { StateStore } from '../state-old/store.ts';

/** The acknowledgement of a row. */
export interface RowAck {
  /** See `rowKey`. */
  readonly key: string;
  /** The digest of the text. */
  readonly digest: string;
  /** Null if neither the response nor the history had it. */
  readonly message_id: string | null;
}

/*
 * A record holds the acknowledgements that came while the one before it was written: for each, the key of the message, the
 * digest of its text, and its message_id.
 */
export const ROWS_TYPE = 'message.rows';

function readAck(value: unknown): RowAck | undefined {
  if (!Array.isArray(value)) return undefined;
  const [key, digest, message_id]: readonly unknown[] = value;
  return isText(key) && isText(digest) && isTextOrNull(message_id) ? { key, digest, message_id } : undefined;
}

function acksOf({ type, origin: recorded, rows }: LogRecord, origin: string): readonly RowAck[] {
  if (type !== ROWS_TYPE || recorded !== origin || !Array.isArray(rows)) return [];
  return rows.flatMap((row) => readAck(row) ?? []);
}

/**
 * Reads which messages earlier runs sent.
 * @param isWanted whether a message matters, by its key
 * @returns their acknowledgements by key
 * @throws LocalError if the state cannot be read
 */
export async function readRowAcks(
  store: StateStore,
  origin: string,
  isWanted: (key: string) => boolean,
): Promise<Map<string, RowAck>> {
  const acks = new Map<string, RowAck>();
  for await (const entry of store.open({ containing: [fieldText('type', ROWS_TYPE)] }).readNew()) {
    if (entry.kind === 'restart') acks.clear();
    if (entry.kind !== 'record') continue;
    for (const ack of acksOf(entry.record, origin)) if (isWanted(ack.key)) acks.set(ack.key, ack);
  }
  return acks;
}

interface RecorderDeps {
  readonly origin: string;
  readonly clock: Clock;
  /** Called once, with the error after which nothing more is recorded. */
  readonly onFailure: (error: unknown) => Promise<void>;
}

/** Records acknowledgements. Those that come while a record is being written go into the next one together. */
export class RowRecorder {
  private readonly store: StateStore;
  private readonly log: ReturnType<StateStore['open']>;
  private readonly deps: RecorderDeps;
  private waiting: RowAck[] = [];
  private writing: Promise<void> = Promise.resolve();
  private next: Promise<void> | undefined;
  private hasFailed = false;

  constructor(store: StateStore, deps: RecorderDeps) {
    this.store = store;
    this.log = store.open();
    this.deps = deps;
  }

  /** Resolves once the acknowledgement is on disk, or cannot be recorded. */
  async add(ack: RowAck): Promise<void> {
    if (this.hasFailed) return;
    this.waiting.push(ack);
    this.next ??= this.writing.then(() => {
      this.next = undefined;
      this.writing = this.write(this.waiting.splice(0));
      return this.writing;
    });
    await this.next;
  }

  private async write(acks: readonly RowAck[]): Promise<void> {
    if (this.hasFailed) return;
    const { origin, clock, onFailure } = this.deps;
    const head = recordHead(ROWS_TYPE, { now: () => clock.now(), newId: randomRecordId });
    const rows = acks.map(({ key, digest, message_id }) => [key, digest, message_id]);
    const record = { ...head, origin, rows };
    try {
      await this.store.together(() => this.log.append(record, { kind: 'other' }));
    } catch (error) {
      this.hasFailed = true;
      await onFailure(error);
    }
  }
}
