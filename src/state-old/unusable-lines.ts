import type { OnceRecord } from './once-records.ts';
import { fieldText, type LogRecord, lineDigest } from './record.ts';
import { mayBeAbout, type ObjectIdentity, type RecordFamily } from './relevant-lines.ts';
import type { LogEntry, StoreEntry } from './store.ts';

/** A line that cannot be used, for a warning. */
export interface UnusableLine {
  readonly line: number;
  readonly why: string;
}

/** Describes an entry that is damaged or written by a newer version; undefined for any other entry. */
export function unusableLine(entry: StoreEntry): UnusableLine | undefined {
  if (entry.kind === 'damaged') return { line: entry.line, why: entry.why };
  if (entry.kind !== 'newer') return undefined;
  return { line: entry.line, why: `written by a newer version of this program (format ${entry.version})` };
}

/**
 * Returns a function that warns about an unusable line, once per line.
 * @param warned the numbers of the lines that the user was already warned about
 */
export function lineWarner(
  path: string,
  warn: (text: string) => Promise<void>,
  warned = new Set<number>(),
): (line: UnusableLine) => Promise<void> {
  return async ({ line, why }) => {
    if (warned.has(line)) return;
    warned.add(line);
    await warn(`${path}:${line} cannot be used: ${why}`);
  };
}

/** An unusable line that may be about an object, which then must not be created. */
export interface BlockingLine extends UnusableLine {
  readonly kind: 'newer' | 'damaged';
  /** See `lineDigest`. */
  readonly digest: string;
}

/** An unusable line with its content: undefined if the line is too long to keep. */
type KeptLine = BlockingLine & { readonly bytes: Buffer | undefined };

const OPENING_BRACE = 0x7b;

/** The ids of records in a damaged line: several if lines were joined. */
const RECORD_ID = /"id":"([^"]+)"/g;

function isAbout({ kind, bytes }: KeptLine, identity: ObjectIdentity, family: RecordFamily): boolean {
  // A line that is too long may be about anything.
  if (bytes === undefined) return true;
  if (kind === 'damaged') return mayBeAbout(bytes, identity, family);
  return [...identity.keys.map((key) => fieldText('key', key)), ...identity.texts].some((text) => bytes.includes(text));
}

/** Returns the ids of reservations that ended and of records that were voided. */
function endedIds(records: readonly OnceRecord<unknown>[]): ReadonlySet<string> {
  return new Set(
    records.flatMap((record) => {
      if (record.kind === 'forgotten') return record.records;
      return record.kind === 'reserved' || record.kind === 'unknown' ? [] : (record.reservation ?? []);
    }),
  );
}

/** The lines of a log that cannot be used. */
export class UnusableLines {
  private readonly family: RecordFamily;
  /** By line number: an incomplete line is read again. */
  private readonly lines = new Map<number, KeptLine>();

  constructor(family: RecordFamily) {
    this.family = family;
  }

  clear(): void {
    this.lines.clear();
  }

  /** Keeps the line if it cannot be used. */
  add(entry: LogEntry): void {
    this.lines.delete(entry.line);
    const unusable = unusableLine(entry);
    if (!unusable) return;
    if (entry.kind === 'newer')
      this.lines.set(entry.line, { ...unusable, kind: 'newer', digest: '', bytes: entry.bytes });
    if (entry.kind !== 'damaged') return;
    const bytes = this.joined(entry.line, entry.bytes);
    this.lines.set(entry.line, { ...unusable, kind: 'damaged', digest: entry.digest, bytes });
  }

  /** Keeps an intact line whose record lacks fields of its feature. */
  addIncomplete(line: number, why: string, record: LogRecord): void {
    const bytes = Buffer.from(JSON.stringify(record));
    this.lines.set(line, { line, why, kind: 'damaged', digest: lineDigest(bytes), bytes });
  }

  /**
   * Returns the lines that may be about an object, except damaged lines that a `forgotten` record lists, and damaged
   * reservations that ended.
   * @param records of the object
   */
  about(identity: ObjectIdentity, records: readonly OnceRecord<unknown>[]): readonly BlockingLine[] {
    if (this.lines.size === 0) return [];
    const forgotten = new Set(records.flatMap((record) => (record.kind === 'forgotten' ? record.lines : [])));
    const ended = endedIds(records);
    const isEnded = (bytes: Buffer | undefined): boolean => {
      const ids = [...(bytes?.toString() ?? '').matchAll(RECORD_ID)];
      return ids.length > 0 && ids.every(([, id = '']) => ended.has(id));
    };
    const isResolved = ({ kind, digest, bytes }: KeptLine): boolean =>
      kind === 'damaged' && (forgotten.has(digest) || isEnded(bytes));
    return [...this.lines.values()].filter((line) => !isResolved(line) && isAbout(line, identity, this.family));
  }

  /** Joins a line without a beginning to the damaged line before it: a flipped bit can produce a line feed. */
  private joined(line: number, bytes: Buffer | undefined): Buffer | undefined {
    const before = this.lines.get(line - 1);
    if (bytes === undefined || bytes[0] === OPENING_BRACE || before?.bytes === undefined) return bytes;
    return Buffer.concat([before.bytes, bytes]);
  }
}
