import { isUtf8 } from 'node:buffer';
import { hash, randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../contract/json.ts';

/** The format version that this program writes. Records with a higher version are reported but not read. */
const VERSION = 1;

/** The maximum length of a line in bytes, without the line ending. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** The fields of every record: its type, its creation time (ISO 8601), and a random id. */
export interface RecordHead {
  readonly type: string;
  readonly at: string;
  readonly id: string;
}

/** Who made a record. */
export interface RecordAuthor {
  readonly user: string | null;
  readonly host: string;
  /** The version of this program. */
  readonly version: string;
  /** The URL of the CI run, if there is one. */
  readonly run?: string;
}

/** A record to write. The format reserves the fields `v` and `sum`. */
export type NewRecord = RecordHead & { readonly by?: RecordAuthor; readonly v?: never; readonly sum?: never };

/** A record from the log. Its head has been validated; its other fields may have any value. */
export type LogRecord = RecordHead & JsonObject;

export type DecodedLine =
  | { readonly kind: 'record'; readonly record: LogRecord; readonly sum: string }
  | { readonly kind: 'newer'; readonly version: number; readonly sum: string }
  | { readonly kind: 'damaged'; readonly why: string };

/** Returns the digest that identifies a line in the records of decisions about damaged lines. */
export function lineDigest(line: Uint8Array): string {
  return hash('sha256', line, 'hex').slice(0, SUM_DIGITS);
}

/** Supplies the time and the random id of a new record. */
export interface Stamp {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Returns a new random id; `randomRecordId` outside of tests. */
  readonly newId: () => string;
}

/** Whether a field is a string. */
export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Whether a field is a string or null. */
export function isTextOrNull(value: unknown): value is string | null {
  return value === null || isText(value);
}

/** Whether a field is a list of strings. */
export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

/** Returns 64 random bits in hexadecimal, enough that no two records in a file share an id. */
export function randomRecordId(): string {
  // Faster than `randomBytes`: Node caches random bytes for UUIDs. The omitted part has the version and the variant.
  const uuid = randomUUID();
  return uuid.slice(0, 8) + uuid.slice(-8);
}

/** Returns the head of a new record of this type. */
export function recordHead(type: string, { now, newId }: Stamp): RecordHead {
  return { type, at: new Date(now()).toISOString(), id: newId() };
}

// The checksum ends the line and covers every byte before it. No format version may move it, because it distinguishes a
// record of a newer version from a damaged one.
const SUM_START = ',"sum":"';
const SUM_END = '"}';
const SUM_DIGITS = 16;
const SUM_BYTES = SUM_START.length + SUM_DIGITS + SUM_END.length;

function checksum(covered: Uint8Array | string): string {
  return hash('sha256', covered, 'hex').slice(0, SUM_DIGITS);
}

/**
 * Encodes a record as one line of the file, without the line ending.
 * @returns `{"v":1,"type":…,"at":…,"id":…,…,"sum":"<16 hex digits>"}`
 */
export function encodeRecord<Fields extends NewRecord>(record: Fields): string {
  const { type, at, id, ...fields } = record;
  const covered = JSON.stringify({ v: VERSION, type, at, id, ...fields }).slice(0, -1);
  return `${covered}${SUM_START}${checksum(covered)}${SUM_END}`;
}

/**
 * Returns a text to search for in raw lines. Every record whose field has this value contains it; other lines may
 * contain it, too.
 */
export function fieldText(name: string, value: string): string {
  return fieldsText({ [name]: value });
}

/** Like `fieldText`, for fields that are adjacent in the record. */
export function fieldsText(fields: Readonly<Record<string, string>>): string {
  return JSON.stringify(fields).slice(1, -1);
}

/** Returns the line's checksum if it is valid, otherwise undefined. */
function validChecksum(line: Buffer): string | undefined {
  const start = line.length - SUM_BYTES;
  if (start <= 0) return undefined;
  const tail = line.toString('latin1', start);
  if (!tail.startsWith(SUM_START) || !tail.endsWith(SUM_END)) return undefined;
  const sum = tail.slice(SUM_START.length, -SUM_END.length);
  return sum === checksum(line.subarray(0, start)) ? sum : undefined;
}

function parseLine(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
}

function damaged(why: string): DecodedLine {
  return { kind: 'damaged', why };
}

/** Whether bytes are UTF-8 that may end within a character. */
function isStartOfUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Describes the likely damage to a line without a valid checksum. */
function describeDamage(line: Buffer): string {
  if (/^(<{7}|\|{7}|={7}|>{7})( |$)/.test(line.toString('latin1', 0, 8))) return 'a merge conflict marker';
  // A torn write may end within a character.
  if (!isStartOfUtf8(line)) return 'not valid UTF-8';
  const value = parseLine(line);
  if (value === undefined) return 'not a whole record: cut short, or overwritten';
  if (!isJsonObject(value) || !('sum' in value)) return 'not a record: it carries no checksum';
  return 'changed after it was written: its checksum does not match';
}

function isRecord(value: JsonObject): value is LogRecord {
  return typeof value.type === 'string' && typeof value.at === 'string' && typeof value.id === 'string';
}

/**
 * Decodes one line of the file.
 * @param line the bytes of a nonempty line, without the line ending
 */
export function decodeLine(line: Buffer): DecodedLine {
  const sum = validChecksum(line);
  if (sum === undefined) return damaged(describeDamage(line));
  // A valid checksum proves that the bytes are intact, not that this program wrote them.
  if (!isUtf8(line)) return damaged('not valid UTF-8');
  const value = parseLine(line);
  if (!isJsonObject(value)) return damaged('not a record, though its checksum matches');
  const { v: version, sum: _sum, ...record } = value;
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1) {
    return damaged('its format version is missing');
  }
  if (version > VERSION) return { kind: 'newer', version, sum };
  if (!isRecord(record)) return damaged('its type, time, or id is missing');
  return { kind: 'record', record, sum };
}
