import { normalizeName } from './field-names.ts';
import { isJsonObject } from './json.ts';

/** Text parts may be nested: `{text: {value}}`, or a document of blocks of paragraphs of parts. */
const MAX_DEPTH = 8;

/** Normalized keys of an object or of a part that hold its text, in order. */
const KEYS = [
  'text',
  'plaintext',
  'plain',
  'value',
  'content',
  'body',
  'parts',
  'children',
  'message',
  'markdown',
  'rendered',
];

function textAt(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value;
  if (depth === 0) return undefined;
  if (Array.isArray(value)) {
    const parts = value.map((part) => textAt(part, depth - 1)).filter((part) => part !== undefined);
    return parts.length === 0 ? undefined : parts.join(value.every(isParagraph) ? '\n' : '');
  }
  if (!isJsonObject(value)) return undefined;
  const named = new Map(Object.entries(value).map(([key, inner]) => [normalizeName(key), inner]));
  return KEYS.map((key) => textAt(named.get(key), depth - 1)).find((found) => found !== undefined);
}

/** Whether a part has nested parts, so that the next part starts a new line. */
function isParagraph(part: unknown): boolean {
  return isJsonObject(part) && (Array.isArray(part.content) || Array.isArray(part.children));
}

/** Returns the text of a field: a string, a list of parts that hold text, or an object with either; undefined if none. */
export function extractText(value: unknown): string | undefined {
  return textAt(value, MAX_DEPTH);
}

/** The unit of a time by its size: seconds, milli-, micro-, or nanoseconds since 1970. */
const UNITS = [
  { below: 1e11, toMs: (time: number) => time * 1000 },
  { below: 1e14, toMs: (time: number) => time },
  { below: 1e17, toMs: (time: number) => time / 1e3 },
  { below: 1e20, toMs: (time: number) => time / 1e6 },
];

/** Keys of an object that hold its time. */
const TIME_KEYS = ['$date', 'time', 'date', 'datetime', 'timestamp', 'at', 'value', 'seconds', '_seconds'];

/**
 * Returns the time of a message in ISO 8601: from the seconds, milliseconds, microseconds, or nanoseconds since 1970, as a
 * number or as digits, also within an object. Any other text is returned unchanged, even if it is not a date. Undefined for
 * anything else.
 */
export function readTimestamp(value: unknown): string | undefined {
  if (typeof value === 'string')
    return /^\d{10,19}(\.\d+)?$/.test(value) ? readTimestamp(Number(value)) : value || undefined;
  if (isJsonObject(value)) {
    const key = TIME_KEYS.find((each) => ['string', 'number', 'bigint'].includes(typeof value[each]));
    return key === undefined ? undefined : readTimestamp(value[key]);
  }
  if (typeof value !== 'number' && typeof value !== 'bigint') return undefined;
  const time = Number(value);
  const ms = UNITS.find(({ below }) => Math.abs(time) < below)?.toMs(time);
  const date = new Date(ms ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
