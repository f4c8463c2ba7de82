import type { Contract } from './contract.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { type OperationValue, type ParameterValue, parseParameter } from './leaf-value.ts';
import { LEAVES, type OperationLeaf, parametersOf } from './leaves.ts';

/** The values of a request, with the names and places of the spec. */
export interface RequestValues {
  /** The values of `{name}` in the path. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Undefined parameters are omitted. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly json?: unknown;
}

/** A request with the names and places of the service. */
export interface WireRequest {
  readonly method: OperationValue['method'];
  /** Path and query, percent-encoded and relative to the base URL. */
  readonly path: string;
  readonly json: unknown;
}

/** The service has no such operation, according to its contract. */
export class NoOperation extends Error {}

/** A value in a JSON body: one, or one for each item of a list on its path. */
type Extracted = { readonly value: unknown } | { readonly each: readonly (Extracted | undefined)[] } | undefined;

const isEmpty = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0;

/** Removes the value at a path from an object, with objects that become empty. @returns the rest, and the value */
function take(object: JsonObject, [step = '', ...rest]: readonly string[]): readonly [JsonObject, Extracted] {
  const key = step.replace(/\[\]$/, '');
  const { [key]: inner, ...others } = object;
  if (inner === undefined) return [object, undefined];
  if (step.endsWith('[]') && Array.isArray(inner)) {
    const taken = inner.map((item: unknown) => (isJsonObject(item) ? take(item, rest) : ([item, undefined] as const)));
    const left = taken.map(([item]) => item);
    return [left.every(isEmpty) ? others : { ...object, [key]: left }, { each: taken.map(([, found]) => found) }];
  }
  if (rest.length === 0) return [others, { value: inner }];
  if (!isJsonObject(inner)) return [object, undefined];
  const [left, found] = take(inner, rest);
  return [isEmpty(left) ? others : { ...object, [key]: left }, found];
}

/** Sets the value at a path of an object, and creates missing objects and lists. */
function put(object: JsonObject, [step = '', ...rest]: readonly string[], found: Extracted): JsonObject {
  if (found === undefined) return object;
  const key = step.replace(/\[\]$/, '');
  const inner = object[key];
  if (step.endsWith('[]') && 'each' in found) {
    const items: readonly unknown[] = Array.isArray(inner) ? inner : [];
    const filled = found.each.map((each, index) => {
      const item = items[index];
      return put(isJsonObject(item) ? item : {}, rest, each);
    });
    return { ...object, [key]: filled };
  }
  if (rest.length > 0) return { ...object, [key]: put(isJsonObject(inner) ? inner : {}, rest, found) };
  return 'value' in found ? { ...object, [key]: found.value } : object;
}

interface Parts {
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: JsonObject | undefined;
}

function takeFrom(parts: Parts, { place, path }: ParameterValue): readonly [Parts, Extracted] {
  if (place === 'query') {
    const { [path[0] ?? '']: value, ...query } = parts.query;
    return value === undefined ? [parts, undefined] : [{ ...parts, query }, { value }];
  }
  if (place !== 'body' || parts.body === undefined) return [parts, undefined];
  const [body, found] = take(parts.body, path);
  return [{ ...parts, body }, found];
}

function putInto(parts: Parts, { place, path }: ParameterValue, found: Extracted): Parts {
  if (found === undefined) return parts;
  if (place === 'query') {
    return 'value' in found ? { ...parts, query: { ...parts.query, [path[0] ?? '']: found.value } } : parts;
  }
  return place === 'body' ? { ...parts, body: put(parts.body ?? {}, path, found) } : parts;
}

const PLACEHOLDER = /\{(\w+)\}/g;

/**
 * Moves every value from its place in the spec to its place at the service.
 * @param path parameters that it has as placeholders are sent nowhere else
 */
function relocate(contract: Contract, operation: OperationLeaf, path: string, parts: Parts) {
  const inPath: Record<string, unknown> = {};
  let rest = parts;
  const moves: { to: ParameterValue; found: Extracted }[] = [];
  for (const name of parametersOf(operation)) {
    const from = parseParameter(LEAVES[name].value);
    const placeholder = name.slice(operation.length + 1);
    const isInPath = path.includes(`{${placeholder}}`);
    if (from === undefined || (!isInPath && contract.leaf(name).value === LEAVES[name].value)) continue;
    const [left, found] = takeFrom(rest, from);
    rest = left;
    const to = contract.parameter(name);
    if (isInPath) inPath[placeholder] = found && 'value' in found ? found.value : undefined;
    else if (to !== undefined) moves.push({ to, found });
  }
  return { inPath, ...moves.reduce((moved, { to, found }) => putInto(moved, to, found), rest) };
}

function withSlash(path: string, contract: Contract): string {
  const slash = contract.slash();
  if (slash === 'as-written') return path;
  const end = slash === 'always' ? '/' : '';
  return path.replace(/^[^?]*/, (pathname) => pathname.replace(/(?<=.)\/$/, '') + (pathname === '/' ? '' : end));
}

/**
 * Builds a request as the service expects it: with the method and path of the contract, and every parameter where the
 * contract puts it.
 * @throws NoOperation if the service has no such operation; RangeError for a path parameter that cannot be one segment:
 * empty, `.`, `..`, or not well-formed Unicode
 */
export function buildRequest(contract: Contract, operation: OperationLeaf, values: RequestValues): WireRequest {
  const target = contract.operation(operation);
  if (target === undefined) throw new NoOperation(`The contract of this service has no ${operation}.`);
  const { parameters = {}, query = {}, json } = values;
  const parts = { query, body: isJsonObject(json) ? json : undefined };
  const moved = relocate(contract, operation, target.path, parts);
  const path = withSlash(target.path, contract).replace(PLACEHOLDER, (_, name: string) => {
    const value = parameters[name] ?? moved.inPath[name];
    if (typeof value !== 'string' || value === '' || value === '.' || value === '..' || !value.isWellFormed()) {
      throw new RangeError(`${JSON.stringify(value ?? '')} is not a valid ${name}.`);
    }
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(moved.query)) if (value !== undefined) search.append(name, String(value));
  return {
    method: target.method,
    path: search.size === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${search}`,
    json: moved.body ?? json,
  };
}
