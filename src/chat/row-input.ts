import { parseJsonText } from '../yaml/json-text.ts';
import type { Range } from '../yaml/problem.ts';
import { quoted } from '../yaml/quote.ts';
import { suggest } from '../yaml/suggest.ts';
import { type JsonEntry, readJsonEntries } from './json-entries.ts';

/** The values for rows without their own. */
export interface RowDefaults {
  readonly source_id: string | undefined;
  readonly session_id: string | undefined;
}

/** A row as it is in the file. */
export interface RowInput {
  /** Undefined for the default. */
  readonly source_id: string | undefined;
  readonly session_id: string;
  readonly text: string;
  readonly external_message_id: string | undefined;
  /** Where the external_message_id is. */
  readonly idRange: Range;
}

/** Reports a mistake. @param range what is wrong, in UTF-16 units of the line */
export type ReportMistake = (range: Range, message: string, hint?: string) => void;

const KEYS = ['source_id', 'session_id', 'text', 'external_message_id'] as const;

type Key = (typeof KEYS)[number];

const LINE_HINT = 'write one JSON object per line: {"session_id": "ticket-42", "text": "Good morning!"}';

function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : String(value);
}

/** Points at the start of a list or an object, and underlines any other value. */
function rangeToShow(value: unknown, [start, end]: Range): Range {
  return typeof value === 'object' && value !== null ? [start, start] : [start, end];
}

function checkValue(key: Key, value: unknown, range: Range, report: ReportMistake): void {
  const isOptional = key === 'source_id' || key === 'external_message_id';
  const emptyHint = isOptional ? 'leave the key out, or give an id' : undefined;
  if (typeof value === 'string') {
    if (!/\S/.test(value)) report(range, `${quoted(key)} must not be empty`, emptyHint);
    return;
  }
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  const hint = isPlain ? `put quotes around it: ${quoted(String(value))}` : emptyHint;
  report(rangeToShow(value, range), `${quoted(key)} must be text, not ${describeValue(value)}`, hint);
}

/** Reports unknown and repeated keys. @returns the missing keys that unknown ones probably stand for */
function checkKeys(entries: readonly JsonEntry[], report: ReportMistake): ReadonlySet<string> {
  const seen = new Set<string>();
  const missing = KEYS.filter((key) => !entries.some((entry) => entry.key === key));
  const meant = new Set<string>();
  for (const { key, keyRange } of entries) {
    if (seen.has(key)) report(keyRange, `duplicate key ${quoted(key)}`);
    seen.add(key);
    if (KEYS.some((known) => known === key)) continue;
    const suggestion = suggest(key, missing);
    if (suggestion !== undefined) meant.add(suggestion);
    const hint = suggestion === undefined ? `valid keys: ${KEYS.join(', ')}` : `did you mean ${quoted(suggestion)}?`;
    report(keyRange, `unknown key ${quoted(key)}`, hint);
  }
  return meant;
}

const MISSING_HINTS = {
  source_id: 'add it, or give --source or --agent for all rows',
  session_id: 'add it, or give --session for all rows',
  text: undefined,
} as const;

/** Parses a line. @returns undefined after a mistake */
function parseObject(line: string, report: ReportMistake): object | undefined {
  const parsed = parseJsonText(line);
  if ('at' in parsed) {
    report([parsed.at, parsed.at], parsed.message, LINE_HINT);
    return undefined;
  }
  const { value } = parsed;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  const range = [line.search(/\S/), line.trimEnd().length] as const;
  report(rangeToShow(value, range), `a row must be an object, not ${describeValue(value)}`, LINE_HINT);
  return undefined;
}

/** Checks the values of the known keys. @returns those that are text */
function readTexts(object: object, entries: readonly JsonEntry[], report: ReportMistake): Map<Key, string> {
  const texts = new Map<Key, string>();
  for (const { key, valueRange } of entries) {
    const known = KEYS.find((each) => each === key);
    if (known === undefined) continue;
    const value: unknown = Reflect.get(object, known);
    checkValue(known, value, valueRange, report);
    if (typeof value === 'string') texts.set(known, value);
  }
  return texts;
}

/**
 * Checks one line of a file of rows.
 * @param hasSource whether rows need no source_id
 * @returns undefined after a mistake
 */
export function parseRow(
  line: string,
  { session_id }: Pick<RowDefaults, 'session_id'>,
  hasSource: boolean,
  report: ReportMistake,
): RowInput | undefined {
  let isValid = true;
  const refuse: ReportMistake = (...mistake) => {
    isValid = false;
    report(...mistake);
  };
  const object = parseObject(line, refuse);
  if (!object) return undefined;
  const start = line.search(/\S/);
  const entries = readJsonEntries(line);
  const meant = checkKeys(entries, refuse);
  const isGiven = { source_id: hasSource, session_id: session_id !== undefined, text: false };
  for (const key of ['source_id', 'session_id', 'text'] as const) {
    const isMissing = !Object.hasOwn(object, key) && !isGiven[key] && !meant.has(key);
    if (isMissing) refuse([start, start], `the key ${quoted(key)} is missing`, MISSING_HINTS[key]);
  }
  const texts = readTexts(object, entries, refuse);
  if (!isValid) return undefined;
  return {
    source_id: texts.get('source_id'),
    session_id: texts.get('session_id') ?? session_id ?? '',
    text: texts.get('text') ?? '',
    external_message_id: texts.get('external_message_id'),
    idRange: entries.find(({ key }) => key === 'external_message_id')?.valueRange ?? [start, start],
  };
}
