import type { Contract } from './contract.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { placeholdersIn } from './leaf-values.ts';
import { type OperationLeaf, parametersOf } from './leaves.ts';

type Scalar = string | number | boolean | undefined;

/** The values by the names of the parameters, without the operation: `{ text }`, `{ agents: [{ name }] }`. */
export type RequestValues = { readonly [name: string]: Scalar | readonly { readonly [name: string]: Scalar }[] };

/** The service has no such operation, according to its contract. */
export class NoOperation extends Error {}

type Value = Scalar | readonly Scalar[];

function findValue(values: RequestValues, [list = '', field = '']: readonly string[]): Value {
  const found = values[list];
  if (typeof found !== 'object') return field === '' ? found : undefined;
  const items = found.map((item) => item[field]);
  return items.every((item) => item === undefined) ? undefined : items;
}

/** Sets a value at a path of a body, or that of each item of a list: `agents[].name`. Creates missing objects. */
function put(body: JsonObject, [step = '', ...rest]: readonly string[], value: Value): JsonObject {
  const key = step.replace(/\[\]$/, '');
  const inner = body[key];
  const into = (target: unknown, each: Value): JsonObject => put(isJsonObject(target) ? target : {}, rest, each);
  if (Array.isArray(value) && step.endsWith('[]')) {
    const items: readonly unknown[] = Array.isArray(inner) ? inner : [];
    return { ...body, [key]: value.map((each, index) => into(items[index], each)) };
  }
  if (rest.length > 0) return { ...body, [key]: into(inner, value) };
  return value === undefined ? body : { ...body, [key]: value };
}

const PLACEHOLDER = /\{(\w+)\}/g;

function pathSegment(name: string, value: Value): string {
  const text = typeof value === 'string' ? value : '';
  if (text === '' || text === '.' || text === '..' || !text.isWellFormed()) {
    throw new RangeError(`${JSON.stringify(text)} is not a valid ${name}.`);
  }
  return encodeURIComponent(text);
}

function withTrailingSlash(pathAndQuery: string, slash: ReturnType<Contract['slash']>): string {
  if (slash === 'as-written') return pathAndQuery;
  return pathAndQuery.replace(/^([^?]*?)\/?(\?|$)/, slash === 'always' ? '$1/$2' : '$1$2') || '/';
}

/** Builds a request as the service expects it. @throws NoOperation; RangeError for a value that cannot be in a path */
export function buildRequest(contract: Contract, operation: OperationLeaf, values: RequestValues = {}) {
  const target = contract.operation(operation);
  if (target === undefined) throw new NoOperation(`The contract of this service has no ${operation}.`);
  const written = withTrailingSlash(target.path, contract.slash());
  const path = written.replace(PLACEHOLDER, (_, name: string) => pathSegment(name, findValue(values, [name])));
  const query = new URLSearchParams();
  let json: JsonObject | undefined;
  for (const leaf of parametersOf(operation)) {
    const [name, parameter] = [leaf.slice(operation.length + 1), contract.parameter(leaf)];
    // A body is sent even if no value is: an empty one means that the service picks its defaults.
    if (parameter?.place === 'body') json ??= {};
    const value = placeholdersIn(target.path).includes(name) ? undefined : findValue(values, name.split('.'));
    if (value === undefined) continue;
    if (parameter?.place === 'query') query.append(parameter.path[0] ?? '', String(value));
    if (parameter?.place === 'body') json = put(json ?? {}, parameter.path, value);
  }
  return {
    method: target.method,
    path: query.size === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
    json,
  };
}

/** Returns which trailing slash a response asks for, if it redirects to the same URL with or without one. */
export function readSlashRedirect(
  { status, headers: { location } }: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
  url: string,
): 'always' | 'never' | undefined {
  if (![301, 302, 307, 308].includes(status) || location === undefined || !URL.canParse(location, url))
    return undefined;
  const [from, to] = [new URL(url), new URL(location, url)];
  if (from.origin !== to.origin || (to.search !== '' && to.search !== from.search)) return undefined;
  if (to.pathname === `${from.pathname}/`) return 'always';
  return from.pathname === `${to.pathname}/` ? 'never' : undefined;
}
