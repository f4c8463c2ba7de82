import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import {
  agentSchema,
  attachmentSchema,
  cronJobSchema,
  documentSchema,
  messageSchema,
  provisioningSchema,
  receiptSchema,
  sourceSchema,
  spaceSchema,
} from './resources.ts';
import type { Operation, ServiceApp } from './service.ts';
import { MAX_PAGE_SIZE } from './settings.ts';

/** The versioned base, and the alias of the latest version (spec §9). */
export const DOCUMENT_BASES = ['/v1', '/latest'];

const JSON_TYPE = 'application/json';

/** The resources by the name of their component. */
const RESOURCES: Readonly<Record<string, v.GenericSchema>> = {
  Space: spaceSchema,
  Agent: agentSchema,
  Provisioning: provisioningSchema,
  ChatSource: sourceSchema,
  MessageReceipt: receiptSchema,
  Message: messageSchema,
  Document: documentSchema,
  FileAttachment: attachmentSchema,
  CronJob: cronJobSchema,
};

const problemSchema = v.object({
  error: v.object({
    code: v.string(),
    message: v.string(),
    request_id: v.string(),
    fields: v.optional(v.array(v.object({ path: v.string(), message: v.string() }))),
  }),
});

const ERRORS: Readonly<Record<number, string>> = {
  400: 'The body is not valid JSON, is not a valid form, or ended early.',
  401: 'The token is missing or unknown.',
  402: "The organization's balance is under 1 USD; nothing was processed.",
  403: 'The token lacks the scope, or may not be used from this address.',
  404: 'There is no such resource.',
  413: 'The body is too large.',
  415: 'The body has another content type.',
  422: 'A field or a parameter is not valid.',
  429: 'The rate limit is reached; `Retry-After`, if present, says when to retry.',
  500: 'The service failed.',
};

/** What every response has. */
const HEADERS = {
  'X-Request-Id': { description: "The request's id; the caller's own if it is valid.", schema: { type: 'string' } },
};

/** Converts a schema. Resources become references to their components, except at the top. */
function toSchema(schema: v.GenericSchema): object {
  const definitions = Object.fromEntries(Object.entries(RESOURCES).filter(([, resource]) => resource !== schema));
  const {
    $schema: _,
    $defs: __,
    ...converted
  } = toJsonSchema(schema, {
    target: 'draft-2020-12',
    typeMode: 'input',
    errorMode: 'ignore',
    definitions,
    overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  });
  return converted;
}

function componentOf(schema: v.GenericSchema): string {
  return Object.keys(RESOURCES).find((name) => RESOURCES[name] === schema) ?? '';
}

function pageSchema(list: Operation['list'], schema: v.GenericSchema): object {
  const link = v.nullable(v.pipe(v.string(), v.url()));
  const page = { next: link, previous: link, results: v.array(schema) };
  return toSchema(v.object(list === 'counted' ? { count: v.pipe(v.number(), v.integer()), ...page } : page));
}

function componentSchemas(operations: readonly Operation[]): Record<string, object> {
  const lists = operations.filter(({ list }) => list !== undefined);
  return {
    ...Object.fromEntries(Object.entries(RESOURCES).map(([name, schema]) => [name, toSchema(schema)])),
    ...Object.fromEntries(lists.map(({ list, returns }) => [`${componentOf(returns)}List`, pageSchema(list, returns)])),
    Error: toSchema(problemSchema),
  };
}

function parametersOf({ path, query, list }: Operation): object[] {
  const size = { type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE };
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const own = Object.entries(query?.entries ?? {}).map(([name, schema]) => {
    return { name, in: 'query', required: schema.type !== 'optional', schema: toSchema(schema) };
  });
  const paging = [
    ...(list === undefined ? [] : [{ name: 'page_size', in: 'query', schema: size }]),
    ...(list === 'counted' ? [{ name: 'cursor', in: 'query', schema: { type: 'string' } }] : []),
  ];
  return [...inPath, ...own, ...paging];
}

function bodyOf({ body, takesFile }: Operation): object {
  const file = { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' };
  const form = { type: 'object', properties: { file }, required: ['file'], additionalProperties: true };
  if (!body && !takesFile) return {};
  const content = {
    ...(takesFile && { 'multipart/form-data': { schema: form } }),
    ...(body && { [JSON_TYPE]: { schema: toSchema(body) } }),
  };
  return { requestBody: { required: true, content } };
}

function describeOperation(operation: Operation): object {
  const { id, summary, scope, method, path, list, returns, statuses } = operation;
  const component = `${componentOf(returns)}${list === undefined ? '' : 'List'}`;
  const success = {
    description: summary,
    headers: HEADERS,
    content: { [JSON_TYPE]: { schema: { $ref: `#/components/schemas/${component}` } } },
  };
  const ofBody = method === 'POST' ? [400, 413, 415] : [];
  const errors = [...ofBody, 401, 402, 403, ...(path.includes(':') ? [404] : []), 422, 429, 500];
  return {
    operationId: id,
    summary,
    description: `Needs the scope \`${scope}\`.`,
    parameters: parametersOf(operation),
    ...bodyOf(operation),
    responses: {
      ...Object.fromEntries(statuses.map((status) => [status, success])),
      ...Object.fromEntries(errors.map((status) => [status, { $ref: `#/components/responses/${status}` }])),
    },
  };
}

/** Creates the OpenAPI 3.1 document of the operations. @param origin without a trailing slash */
export function createDocument(operations: readonly Operation[], origin: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describeOperation(operation) };
  }
  const content = { [JSON_TYPE]: { schema: { $ref: '#/components/schemas/Error' } } };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Partner Automation API',
      version: 'v1',
      description: 'Provisions customer workspaces, talks to automation agents, and schedules their jobs.',
    },
    servers: [{ url: `${origin}/v1`, description: 'This sandbox.' }],
    security: [{ partnerToken: [] }],
    paths,
    components: {
      schemas: componentSchemas(operations),
      responses: Object.fromEntries(
        Object.entries(ERRORS).map(([status, description]) => [status, { description, headers: HEADERS, content }]),
      ),
      securitySchemes: { partnerToken: { type: 'http', scheme: 'bearer' } },
    },
  };
}

/** Adds the document in JSON and YAML, and a guide (spec §9). They need no token. */
export function addDocumentRoutes(app: ServiceApp, operations: readonly Operation[], origin: string): void {
  const lines = operations.map(
    ({ method, path, summary, scope }) => `${method} ${path}\n    ${summary} Scope: ${scope}.`,
  );
  const guide = `Partner Automation API\n\nBase URL: ${origin}/v1\nThe whole schema is at openapi.json and openapi.yaml, below the base URL.\nEvery call sends: Authorization: Bearer <PARTNER_TOKEN>\n\n${lines.join('\n\n')}\n`;
  for (const base of DOCUMENT_BASES) {
    app.get(`${base}/openapi.json`, (c) => c.json(createDocument(operations, origin)));
    app.get(`${base}/openapi.yaml`, async (c) => {
      const { stringify } = await import('yaml');
      const text = stringify(createDocument(operations, origin), { aliasDuplicateObjects: false });
      return c.body(text, 200, { 'Content-Type': 'application/yaml' });
    });
    app.get(`${base}/guide.txt`, (c) => c.text(guide));
  }
}
