import { hash } from 'node:crypto';
import * as v from 'valibot';
import type { NewMessage } from '../api/calls.ts';
import { isJsonObject } from '../contract/json.ts';
import { type ProblemList, problemsError, type Range } from '../yaml/problem.ts';
import { parseJsonText, quoted } from '../yaml/text.ts';

export interface Row extends NewMessage {
  /** From 1. */
  readonly line: number;
}

const ROW_HINT =
  'a row is one JSON object on a line, with "session_id" (or --session), "text", "source_id" (or --source), and "external_message_id"';

const TEXT = v.pipe(v.string('must be text'), v.regex(/\S/, 'must not be empty'));

/** What rows may lack, because the command line says it. */
type RowDefaults = { readonly hasSource: boolean; readonly session_id: string | undefined };

function rowSchema({ hasSource, session_id }: RowDefaults) {
  const entries = {
    source_id: hasSource ? v.optional(TEXT) : TEXT,
    session_id: session_id === undefined ? TEXT : v.optional(TEXT, session_id),
    text: TEXT,
    external_message_id: v.optional(TEXT),
  };
  return v.strictObject(entries, ({ expected }) => (expected === 'never' ? 'is not a key of a row' : 'is missing'));
}

/** A row as the file says it, and where its external id is. */
type WrittenRow = v.InferOutput<ReturnType<typeof rowSchema>> & Pick<Row, 'line'> & { readonly idAt: Range };

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
  return `row-${hash('sha256', content, 'hex').slice(0, 32)}`;
}

/** Where a key is in a line that starts at `offset`, or else the start of the line. */
function rangeOf(line: string, key: string, offset: number): Range {
  const text = JSON.stringify(key);
  const at = line.indexOf(text);
  return at === -1 ? [offset, offset] : [offset + at, offset + at + text.length];
}

function parseLine(line: string, offset: number, schema: ReturnType<typeof rowSchema>, problems: ProblemList) {
  const parsed = parseJsonText(line);
  if ('message' in parsed || !isJsonObject(parsed.value)) {
    problems.add([offset, offset], 'message' in parsed ? parsed.message : 'a row must be a JSON object', ROW_HINT);
    return undefined;
  }
  const { issues = [], typed, output } = v.safeParse(schema, parsed.value);
  for (const { path, message } of issues) {
    const key = String(path?.[0].key);
    problems.add(rangeOf(line, key, offset), `${quoted(key)} ${message}`, ROW_HINT);
  }
  return typed && issues.length === 0 ? output : undefined;
}

/**
 * Reads a file of rows: a JSON object per line; blank lines are skipped.
 * @throws InputError that shows the mistakes with file, line, and column
 */
export function readRows(file: ProblemList, defaults: RowDefaults): readonly WrittenRow[] {
  const schema = rowSchema(defaults);
  const rows: WrittenRow[] = [];
  for (const [index, line] of file.text.split('\n').entries()) {
    const [offset] = file.startOf(index + 1);
    const typed = line.trim() === '' ? undefined : parseLine(line, offset, schema, file);
    if (typed) rows.push({ ...typed, line: index + 1, idAt: rangeOf(line, 'external_message_id', offset) });
  }
  if (file.size > 0) throw problemsError(file.sorted());
  return rows;
}

/**
 * Gives each row its source and its external id.
 * @param source_id that of the rows that name none
 * @throws InputError that shows which rows have the external id of another text
 */
export function completeRows(file: ProblemList, rows: readonly WrittenRow[], source_id: string): readonly Row[] {
  const occurrences = new Map<string, number>();
  const firstOfId = new Map<string, Row>();
  const completed = rows.map(({ idAt, ...written }) => {
    const message = { ...written, source_id: written.source_id ?? source_id };
    const content = JSON.stringify([message.source_id, message.session_id, message.text]);
    const occurrence = (occurrences.get(content) ?? 0) + 1;
    const { external_message_id = deriveExternalId(message, occurrence) } = written;
    if (written.external_message_id === undefined) occurrences.set(content, occurrence);
    const row = { ...message, external_message_id };
    const id = JSON.stringify([row.source_id, row.session_id, row.external_message_id]);
    const first = firstOfId.get(id) ?? row;
    firstOfId.set(id, first);
    const problem = `"external_message_id" is that of line ${first.line}, which has another text`;
    if (first.text !== row.text) file.add(idAt, problem, 'give each message an id of its own');
    return row;
  });
  if (file.size > 0) throw problemsError(file.sorted());
  return completed;
}
