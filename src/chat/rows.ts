import { hash } from 'node:crypto';
import * as v from 'valibot';
import type { NewMessage } from '../api/calls.ts';
import { isJsonObject } from '../contract/json.ts';
import { parseJsonText } from '../yaml/json-text.ts';
import { type Problem, ProblemList, problemsError, type Range } from '../yaml/problem.ts';
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

function rowSchema({ source_id, session_id }: RowDefaults) {
  const orDefault = (value: string | undefined) => (value === undefined ? TEXT : v.optional(TEXT, value));
  const entries = { source_id: orDefault(source_id), session_id: orDefault(session_id), text: TEXT };
  return v.strictObject({ ...entries, external_message_id: v.optional(TEXT) }, ({ expected }) =>
    expected === 'never' ? 'is not a key of a row' : 'is missing',
  );
}

type TypedRow = v.InferOutput<ReturnType<typeof rowSchema>>;

/**
 * The external id of a row that gives none: the same in each run, and another one for each row of the file. It stays
 * the same in later versions, because a repeat would otherwise send everything again.
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
function parseLine(line: string, schema: ReturnType<typeof rowSchema>, found: ProblemList): TypedRow | undefined {
  const parsed = parseJsonText(line);
  if ('message' in parsed || !isJsonObject(parsed.value)) {
    found.add([0, 0], 'message' in parsed ? parsed.message : 'a row must be a JSON object', ROW_HINT);
    return undefined;
  }
  const { issues = [], typed, output } = v.safeParse(schema, parsed.value);
  for (const { path, message } of issues) {
    const key = String(path?.[0].key);
    found.add(rangeOf(line, key), `${quoted(key)} ${message}`, ROW_HINT);
  }
  return typed && issues.length === 0 ? output : undefined;
}

/**
 * Reads a file of rows: a JSON object per line; blank lines are skipped.
 * @param name the file, for messages
 * @throws InputError that shows every mistake with file, line, and column
 */
export function readRows(name: string, text: string, defaults: RowDefaults): readonly Row[] {
  const schema = rowSchema(defaults);
  const rows: Row[] = [];
  const problems: Problem[] = [];
  /** How often each content came without an id. */
  const occurrences = new Map<string, number>();
  /** The first row of each external id. */
  const byId = new Map<string, Row>();

  function addRow({ external_message_id, ...content }: TypedRow, line: number): Row {
    const key = JSON.stringify(content);
    const occurrence = (occurrences.get(key) ?? 0) + 1;
    if (external_message_id === undefined) occurrences.set(key, occurrence);
    const row = { ...content, external_message_id: external_message_id ?? deriveExternalId(content, occurrence), line };
    rows.push(row);
    return row;
  }

  for (const [index, line] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    if (line.trim() === '') continue;
    const found = new ProblemList({ name, text: line }, index + 1);
    const typed = parseLine(line, schema, found);
    if (typed) {
      const row = addRow(typed, index + 1);
      const key = JSON.stringify([row.source_id, row.session_id, row.external_message_id]);
      const first = byId.get(key) ?? row;
      byId.set(key, first);
      if (first.text !== row.text) {
        const message = `"external_message_id" is that of line ${first.line}, which has another text`;
        found.add(rangeOf(line, 'external_message_id'), message, 'give each message an id of its own');
      }
    }
    problems.push(...found.sorted());
    if (problems.length >= MAX_PROBLEMS) break;
  }
  if (problems.length > 0) throw problemsError(problems);
  return rows;
}
