import { isJsonObject } from './json.ts';

/** Text parts may be nested: `{text: {value}}`, or a document of blocks of paragraphs of parts. */
const MAX_DEPTH = 8;

/** Keys of an object or of a part that hold its text, in order. */
const KEYS = [
  'text',
  'plain_text',
  'plain',
  'value',
  'content',
  'body',
  'parts',
  'children',
  'message',
  'markdown',
  'raw',
  'rendered',
  'storage',
];

function textAt(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value;
  if (depth === 0) return undefined;
  if (Array.isArray(value)) {
    const parts = value.map((part) => textAt(part, depth - 1)).filter((part) => part !== undefined);
    return parts.length === 0 ? undefined : parts.join(value.every(isParagraph) ? '\n' : '');
  }
  if (!isJsonObject(value)) return undefined;
  for (const [key, inner] of sortedEntries(value)) {
    const found = KEYS.includes(key) ? textAt(inner, depth - 1) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether a part has nested parts, so that the next part starts a new line. */
function isParagraph(part: unknown): boolean {
  return isJsonObject(part) && (Array.isArray(part.content) || Array.isArray(part.children));
}

/** The entries in the order of KEYS, with their names in lower case. */
function sortedEntries(value: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] {
  const entries = Object.entries(value).map(([key, inner]) => [key.toLowerCase(), inner] as const);
  return entries.toSorted(([left], [right]) => KEYS.indexOf(left) - KEYS.indexOf(right));
}

/** Returns the text of a field: a string, a list of parts that hold text, or an object with either; undefined if none. */
export function extractText(value: unknown): string | undefined {
  return textAt(value, MAX_DEPTH);
}

function isTime(value: unknown): boolean {
  return ['string', 'number', 'bigint'].includes(typeof value);
}

/** Recognizes the unit of a time by its size: seconds, milli-, micro-, or nanoseconds. */
const UNITS = [
  { below: 1e11, toMs: (time: number) => time * 1000 },
  { below: 1e14, toMs: (time: number) => time },
  { below: 1e17, toMs: (time: number) => time / 1e3 },
  { below: 1e20, toMs: (time: number) => time / 1e6 },
];

/** A date in older Microsoft JSON, `/Date(1772444580000+0000)/`. The offset does not affect the time. */
const MICROSOFT_DATE = /^\/Date\((-?\d+)(?:[+-]\d{4})?\)\/$/;

/** Keys of an object that hold its time: `{actor, time}`, `{$date}`. */
const TIME_KEYS = [
  ...['$date', 'time', 'date', 'datetime', 'timestamp', 'at', 'value', 'iso', 'seconds', '_seconds'],
  ...['epochSecond', 'epochSeconds', 'epoch_seconds', 'epochMillis', 'epoch', 'millis', 'ms', 'unix'],
];

/** Reads a local time as Java services write it, without the last parts that are 0: `[2026, 1, 2, 3, 4, 5, 678000000]`. */
function readParts(parts: readonly unknown[]): string | undefined {
  const numbers = parts.filter((part) => Number.isInteger(part)).map(Number);
  const [year = 0, month = 0, day, hour, minute, second = 0, nanos = 0] = numbers;
  if (numbers.length !== parts.length || minute === undefined || year < 1970) return undefined;
  const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second, nanos / 1e6));
  // Date.UTC also accepts what no clock shows: hour 24 is the next day.
  const isReal =
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    date.getUTCHours() === hour &&
    date.getUTCMinutes() === minute &&
    date.getUTCSeconds() === second;
  // A time without a zone stays one.
  return isReal ? date.toISOString().replace('Z', '') : undefined;
}

/**
 * Returns the time of a message in ISO 8601: from the seconds, milliseconds, microseconds, or nanoseconds since 1970, as a
 * number or as digits, also within an object, or from a list of its parts. Any other text is returned unchanged, even if it
 * is not a date. Undefined for anything else.
 */
export function readTimestamp(value: unknown): string | undefined {
  if (typeof value === 'string') {
    const digits = MICROSOFT_DATE.exec(value)?.[1] ?? (/^\d{10,19}(\.\d+)?$/.test(value) ? value : undefined);
    return digits === undefined ? value || undefined : readTimestamp(Number(digits));
  }
  if (Array.isArray(value)) return readParts(value);
  if (isJsonObject(value)) {
    const key = TIME_KEYS.find((each) => isTime(value[each]));
    return key === undefined ? undefined : readTimestamp(value[key]);
  }
  if (typeof value !== 'number' && typeof value !== 'bigint') return undefined;
  const time = Number(value);
  const ms = UNITS.find(({ below }) => Math.abs(time) < below)?.toMs(time);
  const date = new Date(ms ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
