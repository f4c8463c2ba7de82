import { isUtf8 } from 'node:buffer';
import { hash, randomBytes } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../contract/json.ts';

/** The version of the format that this program writes. Records of a higher version are reported, not read. */
const VERSION = 1;

/** The longest line that is read or written, in bytes without the line end. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** What every record has: its type, when it was made (ISO 8601), and a random id. */
export interface RecordHead {
  readonly type: string;
  readonly at: string;
  readonly id: string;
}

/** A record to write. `v` and `sum` are fields of the format itself. */
export type NewRecord = RecordHead & { readonly v?: never; readonly sum?: never };

/** A record as read: its head has been checked, its other fields may hold anything. */
export type LogRecord = RecordHead & JsonObject;

export type DecodedLine =
  | { readonly kind: 'record'; readonly record: LogRecord; readonly sum: string }
  | { readonly kind: 'newer'; readonly version: number; readonly sum: string }
  | { readonly kind: 'damaged'; readonly why: string };

/** Where the time and the random id of a new record come from. */
export interface Stamp {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** A fresh random id; `randomRecordId` outside tests. */
  readonly newId: () => string;
}

/** Whether a field is text; its checksum has already shown that it is what was written. */
export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isTextOrNull(value: unknown): value is string | null {
  return value === null || isText(value);
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

/** 64 random bits in hexadecimal: enough that no two records of a file share an id. */
export function randomRecordId(): string {
  return randomBytes(8).toString('hex');
}

/** The head of a new record of the given type. */
export function recordHead(type: string, { now, newId }: Stamp): RecordHead {
  return { type, at: new Date(now()).toISOString(), id: newId() };
}

// The checksum ends the line and covers every byte before it. No version of the format may move it: it is how a record of a
// newer version is told from a damaged one.
const SUM_START = ',"sum":"';
const SUM_END = '"}';
const SUM_DIGITS = 16;
const SUM_BYTES = SUM_START.length + SUM_DIGITS + SUM_END.length;

function checksum(covered: Uint8Array | string): string {
  return hash('sha256', covered, 'hex').slice(0, SUM_DIGITS);
}

/**
 * A record as one line of the file, without the line end.
 * @returns `{"v":1,"type":…,"at":…,"id":…,…,"sum":"<16 hex digits>"}`
 */
export function encodeRecord<Fields extends NewRecord>(record: Fields): string {
  const { type, at, id, ...fields } = record;
  const covered = JSON.stringify({ v: VERSION, type, at, id, ...fields }).slice(0, -1);
  return `${covered}${SUM_START}${checksum(covered)}${SUM_END}`;
}

/**
 * The text by which a record with this field can be found in the file before it is parsed. A record whose field has this
 * value always contains it; other lines may, too.
 */
export function fieldText(name: string, value: string): string {
  return fieldsText({ [name]: value });
}

/** The same for fields that are written next to each other. */
export function fieldsText(fields: Readonly<Record<string, string>>): string {
  return JSON.stringify(fields).slice(1, -1);
}

/** The line's checksum if it is valid, otherwise undefined. */
function validChecksum(line: Buffer): string | undefined {
  const start = line.length - SUM_BYTES;
  if (start <= 0) return undefined;
  const tail = line.toString('latin1', start);
  if (!tail.startsWith(SUM_START) || !tail.endsWith(SUM_END)) return undefined;
  const sum = tail.slice(SUM_START.length, -SUM_END.length);
  return sum === checksum(line.subarray(0, start)) ? sum : undefined;
}

function parseJson(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
}

function damaged(why: string): DecodedLine {
  return { kind: 'damaged', why };
}

/** Why a line without a valid checksum is not a record, as far as the line itself shows. */
function describeDamage(line: Buffer): string {
  if (/^(<{7}|\|{7}|={7}|>{7})( |$)/.test(line.toString('latin1', 0, 8))) return 'a merge conflict marker';
  if (!isUtf8(line)) return 'not valid UTF-8';
  const value = parseJson(line);
  if (value === undefined) return 'not a whole record: cut short, or overwritten';
  if (!isJsonObject(value) || !('sum' in value)) return 'not a record: it carries no checksum';
  return 'changed after it was written: its checksum does not match';
}

function isRecord(value: JsonObject): value is LogRecord {
  return typeof value.type === 'string' && typeof value.at === 'string' && typeof value.id === 'string';
}

/**
 * Decodes one line of the file.
 * @param line its bytes without the line end; not empty
 */
export function decodeLine(line: Buffer): DecodedLine {
  const sum = validChecksum(line);
  if (sum === undefined) return damaged(describeDamage(line));
  // A valid checksum proves that the bytes are intact, not that this program wrote them.
  if (!isUtf8(line)) return damaged('not valid UTF-8');
  const value = parseJson(line);
  if (!isJsonObject(value)) return damaged('not a record, though its checksum matches');
  const { v: version, sum: _sum, ...record } = value;
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1) {
    return damaged('its format version is missing');
  }
  if (version > VERSION) return { kind: 'newer', version, sum };
  if (!isRecord(record)) return damaged('its type, moment or id is missing');
  return { kind: 'record', record, sum };
}
