import type { JSONValue } from '@jmespath-community/jmespath';
import { LocalError, type PartnerctlError, UsageError, withHint } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';
import {
  type Cell,
  type CommandResult,
  type ListResult,
  listResult,
  type ObjectResult,
  objectResult,
} from './command-result.ts';
import { stringifyJson } from './formats/stringify-json.ts';
import { sanitizeLine } from './sanitize.ts';

/** The command has done its work, so the error includes its result. If the command failed, scripts need its own exit code. */
function failedQuery(expression: string, answer: JSONValue, error: unknown, failure: PartnerctlError | undefined) {
  const message = `--query does not apply to the result: ${expression}`;
  const result = `Its result without --query: ${stringifyJson(answer)}`;
  const details = { answer };
  if (failure) return withHint(failure, { hint: `${message}\n${result}`, details });
  const why = errorMessage(error);
  return new LocalError(message, { why, hint: `The command itself succeeded. ${result}`, details, cause: error });
}

/** Lists the functions that a compiled expression calls. The library looks them up only when it evaluates a call. */
function calledFunctions(node: unknown): string[] {
  if (!isObject(node) && !Array.isArray(node)) return [];
  if ('type' in node && node.type === 'Literal') return [];
  const own = 'type' in node && node.type === 'Function' && 'name' in node ? [String(node.name)] : [];
  return [...own, ...Object.values(node).flatMap(calledFunctions)];
}

/** The JSON form of a value. Large integers become text, because numbers would lose precision. */
function toJson(data: unknown): JSONValue {
  return JSON.parse(
    JSON.stringify(data, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)) ?? 'null',
  );
}

/**
 * Compiles a JMESPath expression. Call it before sending any request, to report an invalid one.
 * @returns a function that applies the expression to a value's JSON form. If the expression does not apply to the value,
 * it throws the command's failure with a hint about that, or LocalError if the command did not fail.
 * @throws UsageError for an invalid expression or an unknown function
 */
export async function compileQuery(
  expression: string,
): Promise<(data: unknown, failure?: PartnerctlError) => JSONValue> {
  const { compile, getRegisteredFunctions, TreeInterpreter } = await import('@jmespath-community/jmespath');
  try {
    // People write unquoted literals in backticks, because the AWS CLI accepts them.
    const compiled = compile(expression, { enable_legacy_literals: true });
    const registered = getRegisteredFunctions();
    const unknown = calledFunctions(compiled).find((name) => !registered.includes(name));
    if (unknown !== undefined) throw new Error(`Unknown function ${unknown}().`);
    return (data, failure) => {
      const json = toJson(data);
      try {
        return TreeInterpreter.search(compiled, json);
      } catch (error) {
        throw failedQuery(expression, json, error, failure);
      }
    };
  } catch (error) {
    throw new UsageError(`--query is not a valid JMESPath expression: ${expression}`, {
      why: errorMessage(error),
      hint: 'See https://jmespath.org/tutorial.html for the syntax. Quote the whole expression for the shell.',
      cause: error,
    });
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return stringifyJson(value);
}

function toLine(value: unknown): string {
  return `${sanitizeLine(String(toCell(value) ?? ''))}\n`;
}

const toColumn = (key: string) => ({
  header: key,
  value: (item: Readonly<Record<string, unknown>>) => (Object.hasOwn(item, key) ? toCell(item[key]) : null),
});

function toRows(items: readonly unknown[]): CommandResult {
  if (items.length > 0 && items.every(isObject)) {
    const keys = [...new Set(items.flatMap((item) => Object.keys(item)))];
    return listResult(items, keys.map(toColumn), { empty: '' });
  }
  if (items.length > 0 && items.every(Array.isArray)) {
    const columns = Array.from({ length: Math.max(...items.map(({ length }) => length)) }, (_, index) => ({
      header: '',
      value: (item: readonly unknown[]) => toCell(item[index]),
    }));
    return listResult(items, columns, { empty: '' });
  }
  return { kind: 'text', text: items.map(toLine).join('') };
}

/** Converts a query's output to a result for scripts: a list for an array, an object for anything else. */
export function toScriptResult(selected: unknown): ListResult | ObjectResult {
  return Array.isArray(selected) ? listResult(selected, [], { empty: '' }) : objectResult(selected, []);
}

/**
 * Converts a query's output to a result for people: object keys become columns, items of nested arrays become cells,
 * and other values become lines. Null produces no output.
 */
export function toHumanResult(selected: unknown): CommandResult {
  if (selected === null || selected === undefined) return { kind: 'none' };
  if (Array.isArray(selected)) return toRows(selected);
  if (isObject(selected)) return objectResult(selected, Object.keys(selected).map(toColumn));
  return { kind: 'text', text: toLine(selected) };
}
