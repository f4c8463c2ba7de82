import type { JSONValue } from '@jmespath-community/jmespath';
import { LocalError, UsageError } from '../errors.ts';
import {
  type Cell,
  type CommandResult,
  type ListResult,
  listResult,
  type ObjectResult,
  objectResult,
  type Row,
} from './command-result.ts';
import { consume } from './formats/sequence.ts';
import { stringifyJson } from './formats/stringify-json.ts';
import { sanitizeLine } from './sanitize.ts';

type Query = (data: unknown) => JSONValue;

function refused(expression: string, error: unknown): UsageError {
  return new UsageError(`--query is not a JMESPath expression: ${expression}`, {
    why: error instanceof Error ? error.message : String(error),
    hint: 'See https://jmespath.org/tutorial.html for the syntax. Quote the whole expression for the shell.',
    cause: error,
  });
}

const MOST_SHOWN = 2_000;

/** By now the command has done what it was to do, so that its answer must not be lost. */
function inapplicable(expression: string, answer: JSONValue, error: unknown): LocalError {
  const text = stringifyJson(answer);
  const shown = text.length > MOST_SHOWN ? '' : ` Its answer without --query: ${text}`;
  return new LocalError(`--query cannot be applied to the answer: ${expression}`, {
    why: error instanceof Error ? error.message : String(error),
    hint: `The command itself was carried out.${shown}`,
    details: { answer },
    cause: error,
  });
}

/** The functions that a compiled expression calls. The library itself looks them up only when it gets to them. */
function calledFunctions(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  if ('type' in node && node.type === 'Literal') return [];
  const here = 'type' in node && node.type === 'Function' && 'name' in node ? [String(node.name)] : [];
  return [...here, ...Object.values(node).flatMap(calledFunctions)];
}

/** A whole number that JavaScript would round is text to a query, digit for digit. */
function exactly(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/**
 * Compiles a JMESPath expression into a function over the JSON form of a value. Loads the JMESPath library.
 * @throws UsageError when the expression is wrong; the function throws LocalError when it cannot be applied to a value
 */
export async function prepareQuery(expression: string): Promise<Query> {
  const { compile, getRegisteredFunctions, TreeInterpreter } = await import('@jmespath-community/jmespath');
  try {
    // `running` in backticks without quotes is how many have learnt JMESPath from the AWS command line.
    const compiled = compile(expression, { enable_legacy_literals: true });
    const known = getRegisteredFunctions();
    const unknown = calledFunctions(compiled).find((name) => !known.includes(name));
    if (unknown !== undefined)
      throw new Error(`Unknown function ${unknown}(). There are: ${known.toSorted().join(', ')}.`);
    return (data) => {
      const form: JSONValue = JSON.parse(JSON.stringify(data, exactly) ?? 'null');
      try {
        return TreeInterpreter.search(compiled, form);
      } catch (error) {
        throw inapplicable(expression, form, error);
      }
    };
  } catch (error) {
    throw refused(expression, error);
  }
}

/** Throws a UsageError unless the text is a JMESPath expression: to be asked before anything is sent. */
export async function checkQuery(expression: string): Promise<void> {
  await prepareQuery(expression);
}

/** The whole answer as the JSON form has it; rows are pulled to the end. */
export async function toJsonForm(answer: ListResult | ObjectResult): Promise<unknown> {
  if (answer.kind === 'object') return answer.json;
  if (answer.document) {
    await consume(answer.rows);
    return answer.document();
  }
  const rows: Pick<Row, 'json' | 'sortIndex'>[] = [];
  for await (const { json, sortIndex } of answer.rows) rows.push({ json, sortIndex: sortIndex });
  return rows.toSorted((a, b) => a.sortIndex - b.sortIndex).map(({ json }) => json);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function cell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return stringifyJson(value);
}

function line(value: unknown): string {
  return `${sanitizeLine(String(cell(value) ?? ''))}\n`;
}

const columnOf = (key: string) => ({
  header: key,
  value: (item: Readonly<Record<string, unknown>>) => (Object.hasOwn(item, key) ? cell(item[key]) : null),
});

function listOf(items: readonly unknown[]): CommandResult {
  if (items.length > 0 && items.every(isObject)) {
    const keys = [...new Set(items.flatMap((item) => Object.keys(item)))];
    return listResult(items, keys.map(columnOf), { empty: '' });
  }
  if (items.length > 0 && items.every(Array.isArray)) {
    const width = Math.max(...items.map((item) => item.length));
    const columns = Array.from({ length: width }, (_, index) => ({
      header: '',
      value: (item: readonly unknown[]) => cell(item[index]),
    }));
    return listResult(items, columns, { empty: '' });
  }
  return { kind: 'text', text: items.map(line).join('') };
}

/** What a query found, as an answer for scripts: an array is a list, anything else an object. */
export function toScriptResult(result: unknown): ListResult | ObjectResult {
  return Array.isArray(result) ? listResult(result, [], { empty: '' }) : objectResult(result, []);
}

/**
 * What a query found, as rows and lines: objects become columns by their keys, arrays in an array become cells,
 * anything else a line each. Null is nothing.
 */
export function toHumanResult(result: unknown): CommandResult {
  if (result === null || result === undefined) return { kind: 'none' };
  if (Array.isArray(result)) return listOf(result);
  if (isObject(result)) return objectResult(result, Object.keys(result).map(columnOf));
  return { kind: 'text', text: line(result) };
}
