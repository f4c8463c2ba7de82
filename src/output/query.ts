import type { JSONValue } from '@jmespath-community/jmespath';
import { LocalError, type PartnerctlError, UsageError, withHint } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';
import { bodyToJson } from './body.ts';
import {
  type Cell,
  type CommandResult,
  failureOf,
  type ListResult,
  listResult,
  type ObjectResult,
  objectResult,
  type StreamEvent,
} from './command-result.ts';
import { stringifyJson, toJsonForm } from './json.ts';
import { cellText } from './sanitize.ts';

/** Applies the expression. @throws LocalError if it does not apply */
type Select = (json: JSONValue) => JSONValue;

/** Lists the names in nodes of a type. The library looks up functions only when it evaluates a call. */
function namesOf(type: 'Function' | 'Field', node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  if ('type' in node && node.type === 'Literal') return [];
  const own = 'type' in node && node.type === type && 'name' in node ? [String(node.name)] : [];
  return [...own, ...Object.values(node).flatMap((child) => namesOf(type, child))];
}

/** The JSON form of a value. Large integers become text, because numbers would lose precision. */
function toJson(data: unknown): JSONValue {
  return JSON.parse(
    JSON.stringify(data, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)) ?? 'null',
  );
}

/**
 * Compiles a JMESPath expression. Call it before sending any request, to report an invalid one.
 * @param sample fields that it must apply to, if it names no others
 * @throws UsageError for an invalid expression or an unknown function, or if it does not apply to the sample
 */
export async function compileQuery(expression: string, sample?: JsonRecord): Promise<Select> {
  const { compile, getRegisteredFunctions, TreeInterpreter } = await import('@jmespath-community/jmespath');
  try {
    // People write unquoted literals in backticks, because the AWS CLI accepts them.
    const compiled = compile(expression, { enable_legacy_literals: true });
    const registered = getRegisteredFunctions();
    const unknown = namesOf('Function', compiled).find((name) => !registered.includes(name));
    if (unknown !== undefined) throw new Error(`Unknown function ${unknown}().`);
    const isKnown = sample && namesOf('Field', compiled).every((name) => Object.hasOwn(sample, name));
    if (isKnown) TreeInterpreter.search(compiled, sample);
    return (json) => {
      try {
        return TreeInterpreter.search(compiled, json);
      } catch (cause) {
        const message = `--query does not apply to the result: ${expression}`;
        throw new LocalError(message, { why: errorMessage(cause), cause });
      }
    };
  } catch (error) {
    throw new UsageError(`--query is not valid: ${expression}`, {
      why: errorMessage(error),
      hint: 'See https://jmespath.org/tutorial.html for the syntax. Quote the whole expression for the shell.',
      cause: error,
    });
  }
}

/** A result of this many characters, such as the ids of a write, is shown if the query does not apply to it; a list is not. */
const MAX_SHOWN_RESULT = 1000;

/** Selects from what a command has done, which an error includes. If it failed, scripts need its own exit code. */
function selectResult(select: Select, data: unknown, failure?: PartnerctlError): JSONValue {
  const json = toJson(data);
  try {
    return select(json);
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    const failed = withHint(failure ?? error, { hint: failure ? error.message : 'The command itself succeeded.' });
    const text = stringifyJson(json);
    if (text.length > MAX_SHOWN_RESULT) throw failed;
    throw withHint(failed, { hint: `Its result without --query: ${text}`, details: { answer: json } });
  }
}

type JsonRecord = Readonly<Record<string, JSONValue>>;

function isRecord(value: JSONValue): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toCell(value: JSONValue | undefined): Cell {
  return typeof value === 'object' && value !== null ? stringifyJson(value) : value;
}

function toCells(value: JSONValue): readonly Cell[] {
  return Array.isArray(value) ? value.map(toCell) : [toCell(value)];
}

const columnsOf = (items: readonly JsonRecord[]) =>
  [...new Set(items.flatMap((item) => Object.keys(item)))].map((key) => ({
    header: key,
    value: (item: JsonRecord) => (Object.hasOwn(item, key) ? toCell(item[key]) : null),
  }));

/** Shows a value to people: keys become columns, items of nested arrays become cells. Null produces no output. */
function toHumanResult(selected: JSONValue): CommandResult {
  if (selected === null) return { kind: 'none' };
  if (isRecord(selected)) return objectResult(selected, columnsOf([selected]));
  const items = Array.isArray(selected) ? selected : [selected];
  if (items.every(isRecord)) return listResult(items, columnsOf(items));
  const rows = items.map(toCells);
  const length = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const columns = Array.from({ length }, (_, index) => ({
    header: '',
    value: (row: readonly Cell[]) => row[index],
  }));
  return listResult(rows, columns);
}

/** Shows a value to scripts: a list for an array, an object for anything else. */
export function toScriptResult(selected: unknown): ListResult | ObjectResult {
  return Array.isArray(selected) ? listResult(selected, []) : objectResult(selected, []);
}

async function* selectEvents(events: AsyncIterable<StreamEvent>, select: Select): AsyncGenerator<StreamEvent> {
  for await (const event of events) {
    const json = select(toJson(event.json));
    const cells = toCells(isRecord(json) ? Object.values(json) : json).map((cell) => cellText(cell));
    yield { json, text: json === null ? '' : `${cells.join('\t')}\n` };
  }
}

/**
 * Returns what a query selects from a result. Each event of a stream is queried.
 * @throws UsageError for a query on plain text; as `compileQuery`; the errors of the rows
 */
export async function queryResult(
  expression: string,
  result: Exclude<CommandResult, { kind: 'none' }>,
  isForPeople: boolean,
): Promise<CommandResult> {
  const select = await compileQuery(expression, result.kind === 'stream' ? result.sample : undefined);
  const show = isForPeople ? toHumanResult : toScriptResult;
  switch (result.kind) {
    case 'text':
      throw new UsageError('--query needs JSON, and this command prints plain text.', { hint: 'Omit --query.' });
    case 'stream':
      return { kind: 'stream', events: selectEvents(result.events, select) };
    case 'body':
      // A query is for the body of a success. A failure is only reported as an error.
      return result.failure ? { kind: 'none' } : show(selectResult(select, bodyToJson(result)));
    default:
      return show(selectResult(select, await toJsonForm(result), failureOf(result)));
  }
}
