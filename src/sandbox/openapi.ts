import { type ConversionConfig, toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import type { Operation, ServiceApp } from './service.ts';

const problemSchema = v.object({
  error: v.object({
    code: v.string(),
    message: v.string(),
    request_id: v.string(),
    fields: v.optional(v.array(v.object({ path: v.string(), message: v.string() }))),
  }),
});

const fileForm = {
  type: 'object',
  properties: { file: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' } },
  required: ['file'],
  additionalProperties: true,
};

/** @param typeMode `output` for a query, whose texts are parsed */
function toSchema(schema: v.GenericSchema, typeMode: ConversionConfig['typeMode'] = 'input'): object {
  const { $schema: _, ...converted } = toJsonSchema(schema, { target: 'draft-2020-12', typeMode, errorMode: 'ignore' });
  return converted;
}

function jsonContent(schema: v.GenericSchema): object {
  return { 'application/json': { schema: toSchema(schema) } };
}

function parametersOf({ path, query }: Operation): object[] {
  const text = { type: 'string' };
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: text }));
  const inQuery = Object.entries(query?.entries ?? {}).map(([name, schema]) => {
    return { name, in: 'query', required: schema.type !== 'optional', schema: toSchema(schema, 'output') };
  });
  return [...inPath, ...inQuery];
}

function describeOperation(operation: Operation): object {
  const { method, summary, scope, body, returns } = operation;
  const statuses = method === 'GET' ? [200] : [200, 201];
  const success = { description: summary, content: jsonContent(returns) };
  const content = body === 'file' ? { 'multipart/form-data': { schema: fileForm } } : body && jsonContent(body);
  return {
    summary,
    description: `Needs the scope \`${scope}\`.`,
    parameters: parametersOf(operation),
    ...(content && { requestBody: { required: true, content } }),
    responses: {
      ...Object.fromEntries(statuses.map((status) => [status, success])),
      default: { $ref: '#/components/responses/Error' },
    },
  };
}

function createDocument(origin: string, operations: readonly Operation[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describeOperation(operation) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Partner Automation API', version: 'v1' },
    servers: [{ url: `${origin}/v1` }],
    security: [{ partnerToken: [] }],
    paths,
    components: {
      responses: { Error: { description: 'The request was refused, or failed.', content: jsonContent(problemSchema) } },
      securitySchemes: { partnerToken: { type: 'http', scheme: 'bearer' } },
    },
  };
}

/** Adds the documents of spec §9, which need no token: the schema in JSON and YAML, and a list of the operations. */
export function addDocumentRoutes(app: ServiceApp, origin: string, operations: readonly Operation[]): void {
  const lines = operations.map(({ method, path, summary }) => `${method} ${path}\n    ${summary}`);
  const guide = ['Partner Automation API', `Base URL: ${origin}/v1`, 'The whole schema: openapi.json', ...lines];
  for (const base of ['/v1', '/latest']) {
    app.get(`${base}/openapi.json`, (c) => c.json(createDocument(origin, operations)));
    app.get(`${base}/openapi.yaml`, async (c) => {
      const { stringify } = await import('yaml');
      const text = stringify(createDocument(origin, operations), { aliasDuplicateObjects: false });
      return c.body(text, 200, { 'Content-Type': 'application/yaml' });
    });
    app.get(`${base}/guide.txt`, (c) => c.text(`${guide.join('\n\n')}\n`));
  }
}
