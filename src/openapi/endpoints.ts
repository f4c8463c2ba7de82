import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { type OperationValue, parseOperation } from '../contract/leaf-values.ts';
import { DEFAULTS, type OperationLeaf } from '../contract/leaves.ts';
import { listOf, type Shape, shapeOf } from './schema.ts';

export interface QueryParameter {
  readonly name: string;
  readonly shape: Shape;
}

export interface Endpoint {
  readonly leaf: OperationLeaf;
  readonly method: OperationValue['method'];
  /** Relative to the base URL, with the tool's names for path parameters. */
  readonly path: string;
  readonly query: readonly QueryParameter[];
  readonly json: Shape;
  readonly form: Shape;
  readonly response: unknown;
  readonly responseHeaders: readonly string[];
}

/** The methods of the operations whose method spec §4.7 leaves open, the usual one first. */
const OPEN_METHODS: Partial<Record<OperationLeaf, readonly OperationValue['method'][]>> = {
  'messages.history': ['GET', 'POST'],
  'documents.create': ['POST', 'PUT'],
  'file_attachments.create': ['POST', 'PUT'],
};

const JSON_TYPE = /^(application|text)\/([\w.+-]*\+)?json\b|^\*\/\*$|^application\/\*$/i;
const FORM_TYPE = /^multipart\//i;

function queryOf(item: JsonObject, operation: JsonObject): readonly QueryParameter[] {
  const given = [...listOf(operation.parameters), ...listOf(item.parameters)].filter(isJsonObject);
  return given.flatMap(({ name, in: place, schema }) =>
    typeof name === 'string' && place === 'query' ? { name, shape: shapeOf([schema]) } : [],
  );
}

function schemaIn(holder: unknown, type: RegExp): unknown {
  const content = isJsonObject(holder) && isJsonObject(holder.content) ? holder.content : {};
  const media = Object.entries(content).filter(([name]) => type.test(name));
  const schemas = media.map(([, each]) => (isJsonObject(each) ? each.schema : undefined));
  return schemas.find((schema) => schema !== undefined);
}

/** Of a write, the 201 has the created resource; its 200 may be an error, and its 202 an operation. */
function responseIn({ responses: given }: JsonObject) {
  const responses = isJsonObject(given) ? given : {};
  const statuses = Object.keys(responses).filter((status) => status.startsWith('2'));
  const successes = ['201', ...statuses].map((status) => responses[status]).filter(isJsonObject);
  const success = successes.find((each) => schemaIn(each, JSON_TYPE)) ?? successes[0];
  return {
    response: schemaIn(success, JSON_TYPE),
    responseHeaders: isJsonObject(success?.headers) ? Object.keys(success.headers) : [],
  };
}

/** Matches the path of an operation behind any prefix, such as the version, and with or without its trailing slash. */
function patternOf(specPath: string): RegExp {
  return new RegExp(`^(.*)${specPath.replace(/\{\w+\}/g, '\\{[^{}]*\\}').replace(/\/$/, '')}/?$`);
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '');
}

/** Returns how many segments before a documented path end the base path, too; -1 if it ends with others. */
function countShared(basePath: string, prefix: string): number {
  const segments = segmentsOf(prefix);
  const own = segmentsOf(basePath).slice(-segments.length);
  const isShared = segments.every((segment, index) => segment === own[index] || segment.includes('{'));
  return isShared ? segments.length : -1;
}

/** Returns every operation of a document. */
export function operationsIn({ paths }: JsonObject) {
  return Object.entries(isJsonObject(paths) ? paths : {}).flatMap(([path, item]) =>
    ['GET', 'POST', 'PUT', 'PATCH'].flatMap((method) => {
      const operation = isJsonObject(item) ? item[method.toLowerCase()] : undefined;
      return isJsonObject(item) && isJsonObject(operation) ? [{ method, path, item, operation }] : [];
    }),
  );
}

/** Finds an operation by its path in the spec (§4). @returns its places; no endpoint if several are as likely */
export function findEndpoint(document: JsonObject, leaf: OperationLeaf, baseUrl: string) {
  const { method: usual = 'GET', path: own = '' } = parseOperation(DEFAULTS[leaf]) ?? {};
  const { pathname } = new URL(baseUrl);
  const pattern = patternOf(own);
  const matching = operationsIn(document).flatMap((each) => {
    const prefix = pattern.exec(each.path)?.[1];
    return prefix === undefined ? [] : [{ ...each, rank: countShared(pathname, prefix) }];
  });
  const methods = OPEN_METHODS[leaf] ?? [usual];
  const method = methods.find((known) => matching.some((each) => each.method === known)) ?? usual;
  const found = matching.filter((each) => each.method === method);
  const [best, other] = found.sort((one, next) => next.rank - one.rank);
  if (best === undefined) return { places: [] };
  if (best.rank === other?.rank) return { places: found.map((each) => `${method} ${each.path}`) };
  const { path, item, operation } = best;
  const endpoint: Endpoint = {
    leaf,
    method,
    path: path.endsWith('/') ? own : own.replace(/\/$/, ''),
    query: queryOf(item, operation),
    json: shapeOf([schemaIn(operation.requestBody, JSON_TYPE)]),
    form: shapeOf([schemaIn(operation.requestBody, FORM_TYPE)]),
    ...responseIn(operation),
  };
  return { places: [`${method} ${path}`], endpoint };
}
