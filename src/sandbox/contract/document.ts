import { errorFormat } from '../shapes/errors.ts';
import { withoutOptional } from '../shapes/maker.ts';
import { pageFieldSchema } from '../shapes/paging.ts';
import { methodOf, parameterNames, pathOf, requestSchema } from '../shapes/requests.ts';
import { REQUEST_ERROR_STATUSES, writeStatus, writeTrait } from '../shapes/responses.ts';
import type { Shape } from '../shapes/shape.ts';
import { componentSchemas, successSchema } from './component-schemas.ts';
import type {
  Content,
  Document,
  DocumentedOperation,
  DocumentedParameter,
  DocumentedResponse,
  Header,
} from './openapi.ts';
import { toOpenApi30 } from './openapi-30.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { objectOf, refTo, type Schema } from './schema.ts';
import { WEBHOOKS } from './webhooks.ts';

const JSON_TYPE = 'application/json';

const ERRORS: Readonly<Record<number, readonly [name: string, description: string]>> = {
  400: ['BadRequest', 'The body is not valid JSON, is not a valid form, or ended early.'],
  401: ['Unauthorized', 'The token is missing or unknown.'],
  402: ['PaymentRequired', "The organization's balance is under 1 USD; nothing was processed."],
  403: ['Forbidden', 'The token lacks the scope, or may not be used from this address or for this source.'],
  404: ['NotFound', 'There is no such resource.'],
  408: ['RequestTimeout', 'The body did not arrive in time.'],
  413: ['ContentTooLarge', 'The body is too large.'],
  415: ['UnsupportedMediaType', 'The body has another content type.'],
  422: ['UnprocessableContent', 'A field or a parameter is not valid.'],
  429: ['TooManyRequests', 'The rate limit is reached.'],
  500: ['ServerError', 'The service failed.'],
};

const REQUEST_ID: Header = {
  description: "The request's id; the caller's own if it is valid.",
  required: true,
  schema: { type: 'string' },
};

function errorContent(shape: Shape): Content {
  const { mediaType = JSON_TYPE } = errorFormat(shape.errors ?? 'own');
  return { [mediaType]: { schema: refTo('Error') } };
}

function errorResponses(shape: Shape): Record<string, DocumentedResponse> {
  const entries = Object.entries(ERRORS).map(([status, [name, description]]) => {
    const retryAfter = { description: 'When to retry.', schema: { type: 'string' } };
    const headers = { 'X-Request-Id': REQUEST_ID, ...(status === '429' && { 'Retry-After': retryAfter }) };
    return [name, { description, headers, content: errorContent(shape) }];
  });
  const any = { description: 'Any other error.', content: errorContent(shape) };
  return Object.fromEntries([...entries, ['AnyError', any]]);
}

function errorStatuses({ returns, path, kind, method, form }: Operation): number[] {
  const names = path.includes('{') || kind === 'receipt' || kind === 'message';
  const hasReference = names || (kind === 'cron_job' && method === 'POST');
  const bodyErrors = method === 'POST' ? [400, 408, 413, 415, 422] : [];
  const listErrors = returns === 'list' ? [422] : [];
  const formErrors = form ? [400, 408] : [];
  const notFound = hasReference ? [404] : [];
  const all = [401, 402, 403, 429, 500, ...bodyErrors, ...listErrors, ...formErrors, ...notFound];
  return [...new Set(all)].sort((a, b) => a - b);
}

function listHeaders({ paging }: Shape): Record<string, Header> {
  const headers = Object.entries(paging?.headers ?? {}).map(([name, field]) => {
    const { description = '', ...schema } = paging ? withoutOptional(pageFieldSchema(paging, field)) : {};
    const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    return [name, { description, schema: { ...schema, type } }];
  });
  return Object.fromEntries(headers);
}

function successResponses(shape: Shape, operation: Operation): Record<string, DocumentedResponse> {
  const writes = writeTrait(shape, operation);
  const success = successSchema(shape, operation);
  const hasErrorsWith200 =
    shape.errorsAreOk && errorStatuses(operation).some((status) => REQUEST_ERROR_STATUSES.includes(status));
  const location: Header = {
    description: 'The address of the resource, which ends in its id.',
    required: true,
    schema: { type: 'string', format: 'uri-reference' },
  };
  const headers = {
    'X-Request-Id': REQUEST_ID,
    ...(operation.returns === 'list' && listHeaders(shape)),
    ...(writes?.isLocationOnly && { Location: location }),
  };
  const respond = (schema: Schema | undefined): DocumentedResponse => ({
    description: operation.summary,
    headers,
    ...(schema && { content: { [JSON_TYPE]: { schema } } }),
  });
  const isPartial = operation.returns === 'list' && shape.paging?.isPartial;
  const written = writes && operation.statuses.map((status) => writeStatus(writes, status));
  const statuses = written ? [...new Set(written)] : [...operation.statuses, ...(isPartial ? [206] : [])];
  const responses = Object.fromEntries(
    statuses.map((status) => [String(status), respond(writes?.isLocationOnly ? undefined : success)]),
  );
  if (!hasErrorsWith200) return responses;
  const ok = statuses.includes(200) && !writes?.isLocationOnly ? [success, refTo('Error')] : [refTo('Error')];
  return { ...responses, 200: { ...respond({ anyOf: ok }), headers: { 'X-Request-Id': REQUEST_ID } } };
}

function pathParameters({ path }: Operation): DocumentedParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: 'The identifier of the resource.',
    schema: { type: 'string' },
  }));
}

/** The parameters of a read. */
function readParameters(shape: Shape, operation: Operation): DocumentedParameter[] {
  const names = parameterNames(shape, operation);
  const isIgnored = (name: string): boolean => name === 'session_id' && (shape.history?.ignoresSession ?? false);
  const chosen = (operation.query ?? []).filter(({ name }) => !isIgnored(name));
  const own = chosen.map(({ name, required = false, schema: { description = '', ...schema } }) => ({
    name: names.get(name) ?? name,
    in: 'query' as const,
    required,
    description,
    schema,
  }));
  const { paging } = shape;
  if (operation.returns !== 'list' || !paging) return own;
  const isNumber = paging.by === 'page' || paging.by === 'offset';
  const minimum = paging.by === 'page' ? (paging.firstPage ?? 1) : 0;
  const pageSchema: Schema = isNumber ? { type: 'integer', minimum } : { type: 'string' };
  const page = {
    name: paging.parameter,
    schema: pageSchema,
    description: 'The page, as announced by the previous one.',
  };
  const size = {
    name: paging.size,
    schema: { type: 'integer', minimum: 1, maximum: 1_000 } as const,
    description: 'Items on a page.',
  };
  const isByCursor = operation.kind === 'message' && shape.history?.isPagedByCursor;
  const more = (isByCursor ? [size] : [page, size]).filter(({ name }) => own.every((each) => each.name !== name));
  return [...own, ...more.map((each) => ({ ...each, in: 'query' as const, required: false }))];
}

function parameterObject(parameters: readonly DocumentedParameter[]): Schema {
  const fields = parameters.map(({ name, required, description, schema }) => [
    required ? name : `${name}?`,
    { ...schema, description },
  ]);
  return objectOf(Object.fromEntries(fields));
}

function formSchema({ request }: Shape): Schema {
  const file: Schema = {
    type: 'string',
    format: 'binary',
    contentMediaType: 'application/octet-stream',
    description: 'The file, with a filename.',
  };
  return objectOf({ [request?.file ?? 'file']: file }, { additionalProperties: true });
}

function requestContent(shape: Shape, operation: Operation): Content | undefined {
  const { body, form, returns } = operation;
  const json = body && { [JSON_TYPE]: { schema: requestSchema(shape, operation, body) } };
  if (form) return { 'multipart/form-data': { schema: formSchema(shape) }, ...json };
  if (json) return json;
  const isReadByPost = returns === 'list' && methodOf(shape, operation) === 'POST';
  return isReadByPost ? { [JSON_TYPE]: { schema: parameterObject(readParameters(shape, operation)) } } : undefined;
}

function documentOperation(shape: Shape, operation: Operation): DocumentedOperation {
  const content = requestContent(shape, operation);
  const inQuery = methodOf(shape, operation) === 'GET' ? readParameters(shape, operation) : [];
  const errors = errorStatuses(operation).filter(
    (status) => !(shape.errorsAreOk && REQUEST_ERROR_STATUSES.includes(status)),
  );
  const toRef = (name: string) => ({ $ref: `#/components/responses/${name}` });
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: `Needs the scope \`${operation.scope}\`.`,
    tags: [operation.tag],
    parameters: [...pathParameters(operation), ...inQuery],
    ...(content && { requestBody: { required: true as const, content } }),
    responses: {
      ...successResponses(shape, operation),
      ...Object.fromEntries(errors.map((status) => [String(status), toRef(ERRORS[status]?.[0] ?? '')])),
      default: toRef('AnyError'),
    },
  };
}

/**
 * Creates the OpenAPI 3.1 document of the service in a shape.
 * @param origin of the service, without a trailing slash
 */
export function createDocument(shape: Shape, origin: string): Document {
  const paths: Record<string, Record<string, DocumentedOperation>> = {};
  for (const operation of OPERATIONS) {
    const path = pathOf(shape, operation);
    const method = methodOf(shape, operation).toLowerCase();
    paths[path] = { ...paths[path], [method]: documentOperation(shape, operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Partner Automation API',
      version: 'v1',
      description: 'Provisions customer workspaces, talks to automation agents, and schedules their jobs.',
    },
    servers: [{ url: `${origin}/v1`, description: 'This sandbox.' }],
    security: [{ partnerToken: [] }],
    tags: [...new Set(OPERATIONS.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    webhooks: WEBHOOKS,
    components: {
      schemas: componentSchemas(shape),
      responses: errorResponses(shape),
      securitySchemes: {
        partnerToken: { type: 'http', scheme: 'bearer', description: 'A partner token, with the scopes of the call.' },
      },
    },
  };
}

/** The document in the OpenAPI version of the shape. */
export function publishDocument(shape: Shape, origin: string): object {
  const document = createDocument(shape, origin);
  return shape.document?.version === '3.0.3' ? toOpenApi30(document) : document;
}
