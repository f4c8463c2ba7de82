import type { Contract } from './contract.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { placeholdersIn } from './leaf-values.ts';
import { type OperationLeaf, parametersOf } from './leaves.ts';

/** The values by the names of the parameters, without the operation: `{ space_id }`. */
export type RequestValues = { readonly [name: string]: string | undefined };

/** The service has no such operation, according to its contract. */
export class NoOperation extends Error {}

/** Sets a value at a path of a body. Creates missing objects. */
function put(body: JsonObject, [key = '', ...rest]: readonly string[], value: string): JsonObject {
  const inner = body[key];
  return { ...body, [key]: rest.length === 0 ? value : put(isJsonObject(inner) ? inner : {}, rest, value) };
}

const PLACEHOLDER = /\{(\w+)\}/g;

function pathSegment(name: string, text = ''): string {
  if (text === '' || text === '.' || text === '..' || !text.isWellFormed()) {
    throw new RangeError(`${JSON.stringify(text)} is not a valid ${name}.`);
  }
  return encodeURIComponent(text);
}

function withTrailingSlash(pathAndQuery: string, slash: ReturnType<Contract['slash']>): string {
  if (slash === 'as-written') return pathAndQuery;
  return pathAndQuery.replace(/^([^?]*?)\/?(\?|$)/, slash === 'always' ? '$1/$2' : '$1$2') || '/';
}

/**
 * Builds a request as the service expects it: its path, and the parameters that the spec leaves open.
 * @throws NoOperation; RangeError for a value that cannot be in a path
 */
export function buildRequest(contract: Contract, operation: OperationLeaf, values: RequestValues = {}) {
  const target = contract.operation(operation);
  if (target === undefined) throw new NoOperation(`The contract of this service has no ${operation}.`);
  const written = withTrailingSlash(target.path, contract.slash());
  const path = written.replace(PLACEHOLDER, (_, name: string) => pathSegment(name, values[name]));
  const query = new URLSearchParams();
  let json: JsonObject | undefined;
  for (const leaf of parametersOf(operation)) {
    const [name, parameter] = [leaf.slice(operation.length + 1), contract.parameter(leaf)];
    const value = placeholdersIn(target.path).includes(name) ? undefined : values[name];
    if (value === undefined) continue;
    if (parameter?.place === 'query') query.append(parameter.path[0] ?? '', value);
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
