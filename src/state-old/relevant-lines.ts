import type { LineFilter } from './line-reader.ts';

/*
 * Decides by their bytes which lines of the log may be about an object. A line that cannot be read may be the only record
 * of an object, which must then not be created until someone has checked the line.
 */

/** What the records of a feature have in common. */
export interface RecordFamily {
  /** The beginning of their types: `cron.` */
  readonly family: string;
  /** The types of records that end a reservation or void records. Losing one never leads to a second object. */
  readonly endingTypes: readonly string[];
}

/** How a line names an object. */
export interface ObjectIdentity {
  readonly keys: readonly string[];
  /** Other texts of its records: see `fieldsText`. */
  readonly texts: readonly string[];
}

/** Texts that differ in more characters are not copies with flipped bits. */
const MAX_FLIPS = 4;
/** With more unreadable bytes, the rest does not prove what the line is about. */
const MAX_UNREADABLE = 8;
/** No record of an object is shorter. */
const MIN_RECORD_BYTES = 200;
const KEY_DIGITS = 24;
/** Probably a key without the name of its field. */
const OTHER_KEY = /(?<![0-9a-f])[0-9a-f]{24}(?![0-9a-f])/;
const CLOSING_BRACE = 0x7d;

/** The beginning of a record, up to its type. */
const HEAD = '{"v":1,"type":"';

/** The beginning of each intact record of a type. */
export function recordStart(type: string): string {
  return `${HEAD}${type}"`;
}

const HEAD_BYTES = Buffer.from(HEAD);
const KEY_FIELD = Buffer.from('"key":"');
/** The key of a record is at most this far from its beginning. */
const MAX_KEY_OFFSET = 128;
const QUOTE = 0x22;

/** Counts the bytes that differ from a Latin-1 text at an offset, up to one more than `limit`. */
function countFlips(bytes: Buffer, offset: number, text: string, limit: number): number {
  let flips = 0;
  for (let at = 0; at < text.length && flips <= limit; at += 1) {
    if (bytes[offset + at] !== text.charCodeAt(at)) flips += 1;
  }
  return flips;
}

function isNearly(bytes: Buffer, offset: number, text: string): boolean {
  return countFlips(bytes, offset, text, MAX_FLIPS) <= MAX_FLIPS;
}

function hasNearly(bytes: Buffer, text: string): boolean {
  for (let at = 0; at + text.length <= bytes.length; at += 1) if (isNearly(bytes, at, text)) return true;
  return false;
}

function isOtherType(bytes: Buffer, offset: number, { family }: RecordFamily): boolean {
  const limit = Math.floor(family.length / 2);
  return countFlips(bytes, offset, family, limit) > limit;
}

function isHexDigit(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66);
}

/** Types consist of lowercase letters, dots, and underscores. */
function isTypeByte(byte: number): boolean {
  return (byte >= 0x61 && byte <= 0x7a) || byte === 0x2e || byte === 0x5f;
}

/** Returns where a run of matching bytes ends, if a quote follows it; otherwise Infinity. */
function endOfRun(bytes: Buffer, offset: number, isPart: (byte: number) => boolean): number {
  let at = offset;
  while (isPart(bytes[at] ?? 0)) at += 1;
  return bytes[at] === QUOTE ? at : Number.POSITIVE_INFINITY;
}

/**
 * Creates a filter that skips raw lines that are certainly of another feature or another key, even if they are damaged
 * elsewhere.
 * @param keys undefined for the lines of all keys
 */
export function createOtherLineFilter(family: RecordFamily, keys: readonly string[] | undefined): LineFilter {
  return (bytes, start, end) => {
    if (bytes[end - 1] !== CLOSING_BRACE || countFlips(bytes, start, HEAD, 0) > 0) return false;
    const type = start + HEAD.length;
    // An editor or a flipped bit may have joined it to another record.
    const joined = bytes.indexOf(HEAD_BYTES, type);
    if (joined !== -1 && joined < end) return false;
    if (isOtherType(bytes, type, family)) return endOfRun(bytes, type, isTypeByte) < end;
    if (keys === undefined) return false;
    const key = bytes.indexOf(KEY_FIELD, type) + KEY_FIELD.length;
    if (key < type || key > start + MAX_KEY_OFFSET) return false;
    if (endOfRun(bytes, key, isHexDigit) !== key + KEY_DIGITS || key + KEY_DIGITS >= end) return false;
    return !keys.some((each) => isNearly(bytes, key, each));
  };
}

/** Counts control characters and bytes that are not UTF-8. */
function countUnreadable(bytes: Buffer): number {
  return bytes.toString('utf8').match(/[\p{Cc}\ufffd]/gu)?.length ?? 0;
}

const TYPE = /"type":"([^"]*)"/g;
const TYPE_FIELD_LENGTH = '"type":"'.length;

/** A key, and the beginning of a key at the end of a cut line. */
const KEY = /"key":"([^"]{24})"/g;
const CUT_KEY = /"key":"([^"]*)$/;

/**
 * Whether a damaged line may be about an object: it names the object, allowing for a few flipped bits, or it does not show
 * what it is about. A line that was cut before its key does not count: records are cut only while they are appended, which
 * is before the request is sent.
 */
export function mayBeAbout(line: Buffer, { keys, texts }: ObjectIdentity, family: RecordFamily): boolean {
  const text = line.toString('latin1');
  const types = [...text.matchAll(TYPE)];
  if (types.length > 0 && types.every(([, type = '']) => family.endingTypes.includes(type))) return false;
  const isReadable = countUnreadable(line) <= MAX_UNREADABLE;
  const read = [...text.matchAll(KEY)].map(({ index }) => index + KEY_FIELD.length);
  if (isReadable && read.length > 0) return read.some((at) => keys.some((each) => isNearly(line, at, each)));
  const cutKey = CUT_KEY.exec(text)?.[1];
  if (cutKey !== undefined) return cutKey !== '' && keys.some((key) => key.startsWith(cutKey));
  const names = [...keys, ...texts].map((name) => Buffer.from(name).toString('latin1'));
  if (names.some((name) => hasNearly(line, name))) return true;
  if (line.length < MIN_RECORD_BYTES) return false;
  return (
    !isReadable ||
    ((types.length === 0 || types.some(({ index }) => !isOtherType(line, index + TYPE_FIELD_LENGTH, family))) &&
      !OTHER_KEY.test(text))
  );
}
