import { type OperationValue, parseOperation } from '../contract/contract.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { DEFAULTS, type OperationLeaf } from '../contract/leaves.ts';
import { type Shape, shapeOf } from './schema.ts';

export interface QueryParameter {
  readonly name: string;
  readonly isRequired: boolean;
  readonly shape: Shape;
}

/** An operation of the tool in a document. */
export interface Endpoint {
  readonly leaf: OperationLeaf;
  readonly method: OperationValue['method'];
  /** Relative to the base URL, with the tool's names for path parameters. */
  readonly path: string;
  readonly query: readonly QueryParameter[];
  readonly json: Shape | undefined;
  readonly form: Shape | undefined;
  /** The schema of the JSON body of the success response. */
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
  const given = [operation.parameters, item.parameters].flatMap((list) => (Array.isArray(list) ? list : []));
  return given.filter(isJsonObject).flatMap(({ name, in: place, required, schema }) => {
    if (typeof name !== 'string' || place !== 'query') return [];
    return { name, isRequired: required === true, shape: shapeOf([schema]) };
  });
}

function schemaIn(holder: unknown, type: RegExp): unknown {
  const content = isJsonObject(holder) && isJsonObject(holder.content) ? holder.content : {};
  const media = Object.entries(content).filter(([name]) => type.test(name));
  const schemas = media.map(([, each]) => (isJsonObject(each) ? each.schema : undefined));
  return schemas.find((schema) => schema !== undefined);
}

function shapeIn(holder: unknown, type: RegExp): Shape | undefined {
  const schema = schemaIn(holder, type);
  return schema === undefined ? undefined : shapeOf([schema]);
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

/**
 * Finds an operation of the tool in a document by its path in the spec (§4), behind the shortest prefix.
 * @returns undefined if the document does not have the path, or has it behind different prefixes of a length
 */
export function findEndpoint({ paths }: JsonObject, leaf: OperationLeaf): Endpoint | undefined {
  const spec = parseOperation(DEFAULTS[leaf]);
  if (spec === undefined || !isJsonObject(paths)) return undefined;
  const pattern = patternOf(spec.path);
  for (const method of OPEN_METHODS[leaf] ?? [spec.method]) {
    const found = Object.entries(paths).flatMap(([key, item]) => {
      const prefix = pattern.exec(key)?.[1];
      const operation = isJsonObject(item) ? item[method.toLowerCase()] : undefined;
      if (prefix === undefined || !isJsonObject(item) || !isJsonObject(operation)) return [];
      return [{ key, depth: prefix.split('/').length, item, operation }];
    });
    const [best, other] = found.sort((one, next) => one.depth - next.depth);
    if (best === undefined) continue;
    const { key, depth, item, operation } = best;
    if (depth === other?.depth) return undefined;
    return {
      leaf,
      method,
      path: key.endsWith('/') ? spec.path : spec.path.replace(/\/$/, ''),
      query: queryOf(item, operation),
      json: shapeIn(operation.requestBody, JSON_TYPE),
      form: shapeIn(operation.requestBody, FORM_TYPE),
      ...responseIn(operation),
    };
  }
  return undefined;
}
