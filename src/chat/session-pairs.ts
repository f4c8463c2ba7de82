import { isJsonObject } from '../contract/json.ts';
import { isText } from '../state-old/record.ts';
import { type SessionRef, sessionKey } from '../state-old/session-ref.ts';
import { parseJsonText } from '../yaml/json-text.ts';
import { ProblemList, problemsError, toSourceText, type YamlSource } from '../yaml/problem.ts';

const HINT = 'Write one session per line: <source_id> <session_id>, or {"source_id": "…", "session_id": "…"}';

/** A mistake in a line; its position and length are in UTF-16 units. */
interface Mistake {
  readonly at: number;
  readonly length: number;
  readonly message: string;
  readonly hint?: string;
}

function parseObject(line: string): SessionRef | Mistake {
  const parsed = parseJsonText(line);
  if ('at' in parsed) return { at: parsed.at, length: 0, message: parsed.message };
  const start = line.length - line.trimStart().length;
  const mistake = (message: string): Mistake => ({ at: start, length: line.trim().length, message, hint: HINT });
  const { value } = parsed;
  if (!isJsonObject(value)) return mistake('must be an object');
  const { source_id, session_id } = value;
  if (!isText(source_id) || source_id === '') return mistake('source_id is missing, or is not a text');
  if (!isText(session_id) || session_id === '') return mistake('session_id is missing, or is not a text');
  return { source_id, session_id };
}

function parseColumns(line: string): SessionRef | Mistake {
  const [, source_id = '', session_id = ''] = /^\s*(\S+)\s*(.*?)\s*$/.exec(line) ?? [];
  if (session_id !== '') return { source_id, session_id };
  return { at: line.trimEnd().length, length: 0, message: 'the session_id is missing', hint: HINT };
}

/**
 * Parses lines of `source_id session_id`, or of JSON objects with these fields, such as those of `chat watch -o ndjson`.
 * Blank lines and lines that start with # are skipped, and a pair that comes twice counts once.
 * @throws InputError with the place of every mistake, also if there is no pair
 */
export function parsePairs(source: YamlSource): readonly SessionRef[] {
  const text = toSourceText(source);
  const problems = new ProblemList(text);
  const pairs = new Map<string, SessionRef>();
  let start = 0;
  for (const line of text.text.split('\n')) {
    const trimmed = line.trim();
    if (trimmed !== '' && !trimmed.startsWith('#')) {
      const parsed = trimmed.startsWith('{') ? parseObject(line) : parseColumns(line);
      if ('message' in parsed)
        problems.add([start + parsed.at, start + parsed.at + parsed.length], parsed.message, parsed.hint);
      else pairs.set(sessionKey(parsed), parsed);
    }
    start += line.length + 1;
  }
  if (problems.size === 0 && pairs.size === 0) problems.add([0, 0], 'there is no session', HINT);
  if (problems.size > 0) throw problemsError(problems.sorted());
  return [...pairs.values()];
}
