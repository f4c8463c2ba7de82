/*
 * Which lines of the log may be about an object, as far as their bytes tell. A line that cannot be read may hide the only
 * record of an object, so that object must not be created until somebody settles the line.
 */

/** What the records of a feature have in common. */
export interface RecordFamily {
  /** The beginning of their types: `cron.` */
  readonly family: string;
  /** The types of records that end a reservation or void records: to lose one never lets an object be created again. */
  readonly endingTypes: readonly string[];
}

/** How a line names an object. */
export interface ObjectIdentity {
  readonly keys: readonly string[];
  /** Other texts of its records: see `fieldsText`. */
  readonly texts: readonly string[];
}

/** Of two texts that differ in more characters, neither is the other one with a few flipped bits. */
const MAX_FLIPS = 4;
/** More unreadable bytes than this, and what is readable does not tell what the line was about. */
const MAX_UNREADABLE = 8;
/** No record of an object is shorter. */
const MIN_RECORD_BYTES = 200;
const KEY_DIGITS = 24;
/** What looks like a key without the name of its field. */
const OTHER_KEY = /(?<![0-9a-f])[0-9a-f]{24}(?![0-9a-f])/;
const CLOSING_BRACE = 0x7d;

/** The beginning of a record; the type and the key are captured. */
const HEAD = /^\{"v":1,"type":"([a-z._]+)","at":"[\d:.TZ-]+","id":"[0-9a-f]+"(?:,"key":"([0-9a-f]+)")?/;
const HEAD_BYTES = 160;

/** Counts the characters of a text that differ at an offset, up to one more than `limit`. */
function countFlips(line: string, offset: number, text: string, limit: number): number {
  let flips = 0;
  for (let at = 0; at < text.length && flips <= limit; at += 1) {
    if (line.charCodeAt(offset + at) !== text.charCodeAt(at)) flips += 1;
  }
  return flips;
}

function isNearly(line: string, offset: number, text: string): boolean {
  return countFlips(line, offset, text, MAX_FLIPS) <= MAX_FLIPS;
}

function hasNearly(line: string, text: string): boolean {
  for (let at = 0; at + text.length <= line.length; at += 1) if (isNearly(line, at, text)) return true;
  return false;
}

function isOtherType(type: string, { family }: RecordFamily): boolean {
  const limit = Math.floor(family.length / 2);
  return countFlips(type, 0, family, limit) > limit;
}

/**
 * Whether a raw line is certainly of another feature or of another key, so that it need not be decoded. Damage behind its
 * key does not matter then.
 * @param keys undefined for the lines of all keys
 */
export function isAboutOther(line: Buffer, family: RecordFamily, keys: readonly string[] | undefined): boolean {
  if (line.at(-1) !== CLOSING_BRACE) return false;
  const [, type, key] = HEAD.exec(line.toString('latin1', 0, HEAD_BYTES)) ?? [];
  if (type === undefined) return false;
  if (isOtherType(type, family)) return true;
  return key?.length === KEY_DIGITS && keys !== undefined && !keys.some((each) => isNearly(key, 0, each));
}

/** Counts control characters and bytes that are not UTF-8. */
function countUnreadable(bytes: Buffer): number {
  return bytes.toString('utf8').match(/[\p{Cc}\ufffd]/gu)?.length ?? 0;
}

/** A key; and the beginning of one, in a line that was cut there. */
const KEY = /"key":"([^"]{24})"/g;
const CUT_KEY = /"key":"([^"]*)$/;

/**
 * Whether a damaged line may be about an object: it names the object, allowing for a few flipped bits, or it does not
 * tell what it is about. A line that was cut before its key is not about any: a record is cut only while it is appended,
 * which is before the request is sent.
 */
export function mayBeAbout(line: Buffer, { keys, texts }: ObjectIdentity, family: RecordFamily): boolean {
  const text = line.toString('latin1');
  const type = /"type":"([^"]*)"/.exec(text)?.[1];
  if (type !== undefined && family.endingTypes.includes(type)) return false;
  const isReadable = countUnreadable(line) <= MAX_UNREADABLE;
  const read = [...text.matchAll(KEY)].map(([, key = '']) => key);
  if (isReadable && read.length > 0) return read.some((key) => keys.some((each) => isNearly(key, 0, each)));
  const cutKey = CUT_KEY.exec(text)?.[1];
  if (cutKey !== undefined) return cutKey !== '' && keys.some((key) => key.startsWith(cutKey));
  const names = [...keys, ...texts].map((name) => Buffer.from(name).toString('latin1'));
  if (names.some((name) => hasNearly(text, name))) return true;
  if (line.length < MIN_RECORD_BYTES) return false;
  return !isReadable || ((type === undefined || !isOtherType(type, family)) && !OTHER_KEY.test(text));
}
