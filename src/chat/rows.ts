import { hash } from 'node:crypto';
import * as v from 'valibot';
import type { NewMessage } from '../api/calls.ts';
import { isJsonObject } from '../contract/json.ts';
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
}

/** After this many mistakes, the check stops. */
const MAX_PROBLEMS = 100;
const ID_BYTES = 16;
const ROW_HINT =
  'a row is one JSON object on a line, with "session_id" (or --session), "text", "source_id" (or --source), and "external_message_id"';

const TEXT = v.pipe(v.string('must be text'), v.regex(/\S/, 'must not be empty'));
const ROW = v.strictObject(
  { source_id: v.optional(TEXT), session_id: v.optional(TEXT), text: TEXT, external_message_id: v.optional(TEXT) },
  ({ kind, expected }) => (kind === 'schema' && expected === 'never' ? 'is not a key of a row' : 'is missing'),
);

type TypedRow = v.InferOutput<typeof ROW>;

/**
 * The external id of a row that gives none: the same in each run, and another one for each row of the file. It never changes,
 * because a repeat would otherwise send everything again.
 * @param occurrence 1 for the first row with this content, 2 for the second, and so on
 */
export function deriveExternalId(
  { source_id, session_id, text }: Omit<NewMessage, 'external_message_id'>,
  occurrence: number,
): string {
  const content = JSON.stringify([source_id, session_id, text, occurrence]);
  return `row-${hash('sha256', content, 'buffer').toString('hex', 0, ID_BYTES)}`;
}

/** Where a key is in a line, or the beginning of the line. */
function rangeOf(line: string, key: string): Range {
  const text = JSON.stringify(key);
  const at = line.indexOf(text);
  return at === -1 ? [0, 0] : [at, at + text.length];
}

/** Parses one line. Adds its mistakes to `found`. */
function parseLine(line: string, defaults: RowDefaults, found: ProblemList): TypedRow | undefined {
  const parsed = parseJsonText(line);
  if ('message' in parsed) {
    found.add([0, 0], parsed.message, ROW_HINT);
    return undefined;
  }
  if (!isJsonObject(parsed.value)) {
    found.add([0, 0], 'a row must be a JSON object', ROW_HINT);
    return undefined;
  }
  const { issues, typed, output } = v.safeParse(ROW, parsed.value);
  for (const { path, message } of issues ?? []) {
    const key = String(path?.[0].key);
    found.add(rangeOf(line, key), `${quoted(key)} ${message}`, ROW_HINT);
  }
  if (!typed) return undefined;
  for (const key of ['source_id', 'session_id'] as const) {
    if ((output[key] ?? defaults[key]) === undefined) found.add([0, 0], `${quoted(key)} is missing`, ROW_HINT);
  }
  return output;
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
  /** The first row of each external id. */
  const byId = new Map<string, Row>();

  function toRow({ text, external_message_id, ...typed }: TypedRow, line: number): Row {
    const { source_id = defaults.source_id ?? '', session_id = defaults.session_id ?? '' } = typed;
    const content = { source_id, session_id, text };
    if (external_message_id !== undefined) return { ...content, external_message_id, line };
    const key = JSON.stringify(content);
    const occurrence = (occurrences.get(key) ?? 0) + 1;
    occurrences.set(key, occurrence);
    return { ...content, external_message_id: deriveExternalId(content, occurrence), line };
  }

  for (const [index, line] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    if (line.trim() === '') continue;
    const found = new ProblemList(toSourceText({ name, text: line }, index + 1));
    const typed = parseLine(line, defaults, found);
    if (typed && found.size === 0) {
      const row = toRow(typed, index + 1);
      const key = JSON.stringify([row.source_id, row.session_id, row.external_message_id]);
      const first = byId.get(key) ?? row;
      byId.set(key, first);
      rows.push(row);
      if (first.text !== row.text) {
        const message = `"external_message_id" is that of line ${first.line}, which has another text`;
        found.add(rangeOf(line, 'external_message_id'), message, 'give each message an id of its own');
      }
    }
    problems.push(...found.sorted());
    if (problems.length >= MAX_PROBLEMS) break;
  }
  if (problems.length > 0) throw problemsError(problems.slice(0, MAX_PROBLEMS));
  return rows;
}
