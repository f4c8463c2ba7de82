import type { Contract } from '../contract.ts';
import { groupBy } from '../group-by.ts';
import type { JsonObject } from '../json.ts';
import { isJsonObject } from '../json.ts';
import type { OperationLeaf } from '../leaves.ts';
import { wordsOf } from '../likely-names.ts';
import { singularName } from '../openapi/names.ts';
import { PLACEHOLDERS } from '../openapi/path-parameters.ts';
import { VOCABULARY } from '../openapi/vocabulary.ts';
import type { Exchange } from './exchange.ts';
import { schemaOf } from './schema.ts';

/** Exchanges with the same method and, apart from ids, the same path. */
export interface TracedEndpoint {
  readonly method: string;
  /** With `{id}` for every id. */
  readonly path: string;
  readonly exchanges: readonly Exchange[];
}

const ID_WORDS = ['id', 'uuid', 'guid', 'pk', 'sid', 'key', 'ref', 'slug', 'code'];
const MAX_IDS = 100_000;
const MAX_DEPTH = 6;

function withoutSlash(path: string): string {
  return path.replace(/(?<=.)\/$/, '');
}

/** Collects the values in a body that are probably ids. */
function collectIds(value: unknown, ids: Set<string>, depth = 0): void {
  if (depth > MAX_DEPTH || ids.size > MAX_IDS) return;
  if (Array.isArray(value)) for (const item of value) collectIds(item, ids, depth + 1);
  if (!isJsonObject(value)) return;
  for (const [key, inner] of Object.entries(value)) {
    const isId = wordsOf(key).some((word) => ID_WORDS.includes(word));
    if (isId && (typeof inner === 'string' || Number.isInteger(inner))) ids.add(String(inner));
    else collectIds(inner, ids, depth + 1);
  }
}

const NOUNS: ReadonlySet<string> = new Set(Object.values(VOCABULARY).flatMap(({ nouns }) => nouns));
const OWNERS: ReadonlySet<string> = new Set(Object.values(PLACEHOLDERS).flat());

/** Whether a segment is an id: a body has it, it looks like one, or it is between a resource and a nested one. */
function isId(segments: readonly string[], index: number, ids: ReadonlySet<string>): boolean {
  const segment = segments[index] ?? '';
  if (segment === '' || index === 0) return false;
  const isNoun = NOUNS.has(singularName(segment));
  if (ids.has(decoded(segment)) && !isNoun) return true;
  if (/^\d+$|^[\da-f-]{16,}$/i.test(segment) || (/\d.*\d.*\d/.test(segment) && !isNoun)) return true;
  const [before = '', after = ''] = [segments[index - 1], segments[index + 1]];
  return OWNERS.has(singularName(before)) && !isNoun && NOUNS.has(singularName(after));
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Groups exchanges by method and path. */
export function groupByEndpoint(exchanges: readonly Exchange[]): readonly TracedEndpoint[] {
  const ids = new Set<string>();
  for (const { body, requestBody } of exchanges) {
    collectIds(body, ids);
    collectIds(requestBody, ids);
  }
  const groups = groupBy(exchanges, ({ method, path }) => {
    const segments = withoutSlash(path).split('/');
    return `${method} ${segments.map((segment, index) => (isId(segments, index, ids) ? '{id}' : segment)).join('/')}`;
  });
  return [...groups].map(([key, group]) => {
    const [method = '', path = ''] = key.split(/ (.*)/s);
    return { method, path: path + usualSlash(group), exchanges: group };
  });
}

function usualSlash(exchanges: readonly Exchange[]): string {
  return exchanges.some(({ path }) => path.endsWith('/')) ? '/' : '';
}

/** Whether an exchange is a request of an operation by the contract, with or without a trailing slash. */
export function isOfOperation(
  { method, path, query }: Exchange,
  operation: OperationLeaf,
  contract: Contract,
): boolean {
  const target = contract.operation(operation);
  if (target === undefined || target.method !== method) return false;
  const [expected = '', search = ''] = target.path.split('?');
  const hasQuery = [...new URLSearchParams(search).keys()].every((name) => Object.hasOwn(query, name));
  const [own, given] = [withoutSlash(expected).split('/'), withoutSlash(path).split('/')];
  return hasQuery && own.length === given.length && own.every((step, at) => step.includes('{') || step === given[at]);
}

const METHODS: Readonly<Record<string, string>> = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch' };

function requestBodyOf(exchanges: readonly Exchange[]): JsonObject {
  const bodies = exchanges.flatMap(({ requestBody }) => (requestBody === undefined ? [] : [requestBody]));
  const fields = [...new Set(exchanges.flatMap(({ form }) => form))];
  const form = { type: 'object', properties: Object.fromEntries(fields.map((name) => [name, { type: 'string' }])) };
  const content = {
    ...(bodies.length > 0 && { 'application/json': { schema: schemaOf(bodies) } }),
    ...(fields.length > 0 && { 'multipart/form-data': { schema: form } }),
  };
  return Object.keys(content).length === 0 ? {} : { requestBody: { content } };
}

function operationOf({ exchanges }: TracedEndpoint): JsonObject {
  const names = [...new Set(exchanges.flatMap(({ query }) => Object.keys(query)))];
  const parameters = names.map((name) => ({ name, in: 'query', schema: { type: 'string' } }));
  return { parameters, responses: {}, ...requestBodyOf(exchanges) };
}

/** Describes endpoints as an OpenAPI document, so that operations are found as in one. */
export function documentOf(endpoints: readonly TracedEndpoint[], basePath: string): JsonObject {
  const paths = new Map<string, Record<string, JsonObject>>();
  for (const endpoint of endpoints) {
    const method = METHODS[endpoint.method];
    if (method === undefined) continue;
    const item = paths.get(endpoint.path) ?? {};
    item[method] = operationOf(endpoint);
    paths.set(endpoint.path, item);
  }
  return { openapi: '3.1.0', servers: [{ url: basePath }], paths: Object.fromEntries(paths) };
}
