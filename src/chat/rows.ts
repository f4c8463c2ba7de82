import { hash } from 'node:crypto';
import type { NewMessage } from '../api/calls.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { suggest } from '../platform/suggest.ts';
import { parseJsonText } from '../yaml/json-text.ts';
import { type Problem, ProblemList, problemsError, type Range, toSourceText } from '../yaml/problem.ts';
import { quoted } from '../yaml/quote.ts';

/** The values for rows without their own. */
export interface RowDefaults {
  readonly source_id: string | undefined;
  readonly session_id: string | undefined;
}

/** A row of a file, as the message to send. */
export interface Row extends NewMessage {
  /** From 1. */
  readonly line: number;
  /** Whether the row gives its external_message_id. */
  readonly hasOwnId: boolean;
}

/** After this many mistakes, the check stops. */
const MAX_PROBLEMS = 100;
const ID = 'external_message_id';
const KEYS = ['source_id', 'session_id', 'text', ID] as const;
const ID_BYTES = 16;
const LINE_HINT = 'write one JSON object per line: {"session_id": "ticket-42", "text": "Good morning!"}';
const MISSING_HINTS = {
  source_id: 'add it, or give --source or --agent for all rows',
  session_id: 'add it, or give --session for all rows',
  text: undefined,
} as const;

/**
 * The external id of a row that gives none: the same in each run, and another one for each row of the file. It never changes,
 * because a repeat would otherwise send everything again.
 * @param occurrence 1 for the first row with this content, 2 for the second, and so on
 */
export function deriveExternalId(
  { source_id, session_id, text }: Pick<NewMessage, 'source_id' | 'session_id' | 'text'>,
  occurrence: number,
): string {
  const content = JSON.stringify([source_id, session_id, text, occurrence]);
  return `row-${hash('sha256', content, 'buffer').toString('hex', 0, ID_BYTES)}`;
}

function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : String(value);
}

/** Where a key is in a line, to point at what is wrong with it. */
function rangeOf(line: string, key: string): Range {
  const text = JSON.stringify(key);
  const at = Math.max(0, line.indexOf(text));
  return [at, at + text.length];
}

function checkValue(line: string, key: string, value: unknown, found: ProblemList): void {
  if (typeof value === 'string' && /\S/.test(value)) return;
  const isOptional = key === 'source_id' || key === ID;
  const emptyHint = isOptional ? 'leave the key out, or give an id' : undefined;
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  const hint = isPlain ? `put quotes around it: ${quoted(String(value))}` : emptyHint;
  const problem = typeof value === 'string' ? 'must not be empty' : `must be text, not ${describeValue(value)}`;
  found.add(rangeOf(line, key), `${quoted(key)} ${problem}`, hint);
}

/** Checks the keys of a row and their values. @param isGiven whether there is a default for a key */
function checkObject(line: string, row: JsonObject, isGiven: Record<string, boolean>, found: ProblemList): void {
  const missing = new Set<string>(KEYS.filter((key) => !Object.hasOwn(row, key)));
  for (const [key, value] of Object.entries(row)) {
    if (KEYS.some((known) => known === key)) {
      checkValue(line, key, value, found);
      continue;
    }
    const meant = suggest(key, [...missing]);
    if (meant !== undefined) missing.delete(meant);
    const hint = meant === undefined ? `valid keys: ${KEYS.join(', ')}` : `did you mean ${quoted(meant)}?`;
    found.add(rangeOf(line, key), `unknown key ${quoted(key)}`, hint);
  }
  const start = Math.max(0, line.search(/\S/));
  for (const key of ['source_id', 'session_id', 'text'] as const) {
    if (missing.has(key) && !isGiven[key]) {
      found.add([start, start], `the key ${quoted(key)} is missing`, MISSING_HINTS[key]);
    }
  }
}

/** Parses one line. @returns the object; undefined after a mistake */
function parseLine(line: string, isGiven: Record<string, boolean>, found: ProblemList): JsonObject | undefined {
  const parsed = parseJsonText(line);
  const start = Math.max(0, line.search(/\S/));
  if ('at' in parsed) found.add([parsed.at, parsed.at], parsed.message, LINE_HINT);
  else if (!isJsonObject(parsed.value)) {
    found.add([start, start], `a row must be an object, not ${describeValue(parsed.value)}`, LINE_HINT);
  } else {
    checkObject(line, parsed.value, isGiven, found);
    return found.size === 0 ? parsed.value : undefined;
  }
  return undefined;
}

function textOf(row: JsonObject, key: (typeof KEYS)[number]): string | undefined {
  const value = row[key];
  return typeof value === 'string' ? value : undefined;
}

/** Checks rows one after the other. */
class RowReader {
  readonly rows: Row[] = [];
  readonly problems: Problem[] = [];
  private readonly name: string;
  private readonly defaults: RowDefaults;
  /** How often each content came without an id. */
  private readonly occurrences = new Map<string, number>();
  /** The first row of each given id. */
  private readonly byId = new Map<string, Row>();

  constructor(name: string, defaults: RowDefaults) {
    this.name = name;
    this.defaults = defaults;
  }

  read(text: string, line: number): void {
    if (text.trim() === '') return;
    const { source_id, session_id } = this.defaults;
    const found = new ProblemList(toSourceText({ name: this.name, text }, line));
    const isGiven = { source_id: source_id !== undefined, session_id: session_id !== undefined };
    const object = parseLine(text, isGiven, found);
    if (object) this.rows.push(this.toRow(object, line, (...mistake) => found.add(rangeOf(text, ID), ...mistake)));
    this.problems.push(...found.sorted());
  }

  private toRow(object: JsonObject, line: number, refuseId: (message: string, hint: string) => void): Row {
    const source_id = textOf(object, 'source_id') ?? this.defaults.source_id ?? '';
    const session_id = textOf(object, 'session_id') ?? this.defaults.session_id ?? '';
    const content = { source_id, session_id, text: textOf(object, 'text') ?? '' };
    const own = textOf(object, ID);
    if (own === undefined) return { ...content, external_message_id: this.deriveId(content), line, hasOwnId: false };
    const row = { ...content, external_message_id: own, line, hasOwnId: true };
    const key = JSON.stringify([source_id, session_id, own]);
    const first = this.byId.get(key) ?? row;
    this.byId.set(key, first);
    if (first.text !== row.text) {
      const message = `${quoted(ID)} is that of line ${first.line}, which has another text`;
      refuseId(message, 'give each message an id of its own');
    }
    return row;
  }

  private deriveId(content: Pick<NewMessage, 'source_id' | 'session_id' | 'text'>): string {
    const key = JSON.stringify(content);
    const occurrence = (this.occurrences.get(key) ?? 0) + 1;
    this.occurrences.set(key, occurrence);
    return deriveExternalId(content, occurrence);
  }
}

/**
 * Reads a file of rows: a JSON object per line; blank lines are skipped.
 * @param name the file, for messages
 * @throws InputError that shows every mistake with file, line, and column
 */
export function readRows(name: string, text: string, defaults: RowDefaults): readonly Row[] {
  const reader = new RowReader(name, defaults);
  for (const [index, line] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    reader.read(line, index + 1);
    if (reader.problems.length >= MAX_PROBLEMS) break;
  }
  const { rows, problems } = reader;
  if (problems.length > 0) throw problemsError(problems.slice(0, MAX_PROBLEMS), 'nothing was sent', MAX_PROBLEMS);
  return rows;
}
