import { hash } from 'node:crypto';
import * as v from 'valibot';
import type { NewMessage } from '../api/calls.ts';
import { isJsonObject } from '../contract/json.ts';
import { ProblemList, problemsError, type Range } from '../yaml/problem.ts';
import { parseJsonText, quoted } from '../yaml/text.ts';

type RowDefaults = Readonly<Record<'source_id' | 'session_id', string | undefined>>;

export interface Row extends NewMessage {
  /** From 1. */
  readonly line: number;
}

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
 * @param name the file, for messages
 * @throws InputError that shows the mistakes with file, line, and column
 */
export function readRows(name: string, text: string, defaults: RowDefaults): readonly Row[] {
  const schema = rowSchema(defaults);
  const problems = new ProblemList({ name, text });
  const rows: Row[] = [];
  const occurrences = new Map<string, number>();
  const firstOfId = new Map<string, Row>();
  for (const [index, line] of problems.text.split('\n').entries()) {
    const [offset] = problems.startOf(index + 1);
    const typed = line.trim() === '' ? undefined : parseLine(line, offset, schema, problems);
    if (!typed) continue;
    const content = JSON.stringify([typed.source_id, typed.session_id, typed.text]);
    const occurrence = (occurrences.get(content) ?? 0) + 1;
    const { external_message_id = deriveExternalId(typed, occurrence) } = typed;
    if (typed.external_message_id === undefined) occurrences.set(content, occurrence);
    const row = { ...typed, external_message_id, line: index + 1 };
    rows.push(row);
    const id = JSON.stringify([row.source_id, row.session_id, external_message_id]);
    const first = firstOfId.get(id) ?? row;
    firstOfId.set(id, first);
    if (first.text === row.text) continue;
    const message = `"external_message_id" is that of line ${first.line}, which has another text`;
    problems.add(rangeOf(line, 'external_message_id', offset), message, 'give each message an id of its own');
  }
  if (problems.size > 0) throw problemsError(problems.sorted());
  return rows;
}
