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
  { source_id, session_id, text }: Omit<NewMessage, typeof ID>,
  occurrence: number,
): string {
  const content = JSON.stringify([source_id, session_id, text, occurrence]);
  return `row-${hash('sha256', content, 'buffer').toString('hex', 0, ID_BYTES)}`;
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** Where a key is in a line, to point at what is wrong with it. */
function rangeOf(line: string, key: string): Range {
  const text = JSON.stringify(key);
  const at = Math.max(0, line.indexOf(text));
  return [at, at + text.length];
}

/** Where a line begins. */
function startOf(line: string): Range {
  const at = line.search(/\S/);
  return [at, at];
}

function checkValue(line: string, key: string, value: unknown, found: ProblemList): void {
  if (typeof value === 'string' && /\S/.test(value)) return;
  const problem = typeof value === 'string' ? 'must not be empty' : `must be text, not ${describeValue(value)}`;
  const hint = typeof value === 'number' ? `put quotes around it: "${value}"` : undefined;
  found.add(rangeOf(line, key), `${quoted(key)} ${problem}`, hint);
}

/** Checks the keys of a row and their values. */
function checkObject(line: string, row: JsonObject, defaults: RowDefaults, found: ProblemList): void {
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
  const required = { ...defaults, text: undefined };
  for (const key of ['source_id', 'session_id', 'text'] as const) {
    if (!missing.has(key) || required[key] !== undefined) continue;
    found.add(startOf(line), `the key ${quoted(key)} is missing`, MISSING_HINTS[key]);
  }
}

/** Parses one line. @returns undefined after a mistake, which it adds to `found` */
function parseLine(line: string, defaults: RowDefaults, found: ProblemList): JsonObject | undefined {
  const parsed = parseJsonText(line);
  if ('at' in parsed) found.add([parsed.at, parsed.at], parsed.message, LINE_HINT);
  else if (isJsonObject(parsed.value)) {
    checkObject(line, parsed.value, defaults, found);
    return found.size === 0 ? parsed.value : undefined;
  } else found.add(startOf(line), `a row must be an object, not ${describeValue(parsed.value)}`, LINE_HINT);
  return undefined;
}

function textOf(fields: JsonObject, key: (typeof KEYS)[number]): string | undefined {
  const value = fields[key];
  return typeof value === 'string' ? value : undefined;
}

/**
 * Reads a file of rows: a JSON object per line; blank lines are skipped.
 * @param name the file, for messages
 * @throws InputError that shows every mistake with file, line, and column
 */
export function readRows(name: string, text: string, defaults: RowDefaults): readonly Row[] {
  const rows: Row[] = [];
  const problems: Problem[] = [];
  /** How often each content came without an id. */
  const occurrences = new Map<string, number>();
  /** The first row of each given id. */
  const byId = new Map<string, Row>();

  function toRow(fields: JsonObject, line: number): Row {
    const source_id = textOf(fields, 'source_id') ?? defaults.source_id ?? '';
    const session_id = textOf(fields, 'session_id') ?? defaults.session_id ?? '';
    const content = { source_id, session_id, text: textOf(fields, 'text') ?? '' };
    const own = textOf(fields, ID);
    if (own !== undefined) return { ...content, external_message_id: own, line, hasOwnId: true };
    const key = JSON.stringify(content);
    const occurrence = (occurrences.get(key) ?? 0) + 1;
    occurrences.set(key, occurrence);
    return { ...content, external_message_id: deriveExternalId(content, occurrence), line, hasOwnId: false };
  }

  const lines = text.replace(/^\ufeff/, '').split('\n');
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const found = new ProblemList(toSourceText({ name, text: line }, index + 1));
    const fields = parseLine(line, defaults, found);
    if (fields) {
      const row = toRow(fields, index + 1);
      const key = JSON.stringify([row.source_id, row.session_id, row.external_message_id]);
      const first = byId.get(key) ?? row;
      byId.set(key, first);
      rows.push(row);
      if (first.text !== row.text) {
        const message = `${quoted(ID)} is that of line ${first.line}, which has another text`;
        found.add(rangeOf(line, ID), message, 'give each message an id of its own');
      }
    }
    problems.push(...found.sorted());
    if (problems.length >= MAX_PROBLEMS) break;
  }
  if (problems.length > 0) throw problemsError(problems.slice(0, MAX_PROBLEMS), 'nothing was sent', MAX_PROBLEMS);
  return rows;
}
