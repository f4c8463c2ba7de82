import { createDocument } from '../../src/sandbox/contract/document.ts';
import type { Document } from '../../src/sandbox/contract/openapi.ts';
import type { Schema } from '../../src/sandbox/contract/schema.ts';
import { PLAIN } from '../../src/sandbox/shapes/shapes.ts';
import { call, type TestSandbox } from '../support/sandbox-client.ts';

/*
 * A client that knows the service in its own shape, and any other shape only from its document: it recognizes a field by its
 * description, which no shape changes.
 */

type DocumentedOperation = NonNullable<Document['paths'][string][string]>;

interface Found {
  readonly method: string;
  readonly path: string;
  readonly operation: DocumentedOperation;
}

function findOperation(document: Document, id: string): Found {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.operationId === id) return { method: method.toUpperCase(), path, operation };
    }
  }
  throw new Error(`There is no operation ${id}.`);
}

function bodySchema({ operation }: Found): Schema | undefined {
  return operation.requestBody?.content['application/json']?.schema;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether two schemas describe the same field. */
function isSame(own: Schema, other: Schema): boolean {
  return own.description === other.description && own.type === other.type;
}

/** Converts a value in the service's own shape to the other schema. */
function translate(own: Schema, other: Schema, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => translate(own.items ?? {}, other.items ?? {}, item));
  if (!isObject(value)) return value;
  const fields = Object.entries(other.properties ?? {});
  const translated = Object.entries(value).map(([name, child]) => {
    const schema = own.properties?.[name] ?? {};
    const candidates = fields.filter(([, candidate]) => isSame(schema, candidate));
    const field = candidates.find(([candidate]) => normalize(candidate) === normalize(name)) ?? candidates[0];
    return field && [field[0], translate(schema, field[1], child)];
  });
  if (translated.every((entry) => entry !== undefined)) return Object.fromEntries(translated);
  // The fields are one level down.
  const wrapper = fields.find(([, child]) => child.type === 'object' && child.properties);
  if (!wrapper) throw new Error(`Nowhere in ${JSON.stringify(other)} is room for ${JSON.stringify(value)}.`);
  return { [wrapper[0]]: translate(own, wrapper[1], value) };
}

function normalize(name: string): string {
  return name.replace(/[_-]/g, '').toLowerCase();
}

/** Finds the name of the same parameter in the other document. */
function parameterName(own: Found, other: Found, name: string): string | undefined {
  const description = own.operation.parameters.find((parameter) => parameter.name === name)?.description;
  const inBody = Object.entries(bodySchema(other)?.properties ?? {}).find(
    ([, schema]) => schema.description === description,
  );
  return other.operation.parameters.find((parameter) => parameter.description === description)?.name ?? inBody?.[0];
}

export interface Sent {
  /** Parameters of the path, by the service's own names. */
  readonly path?: Readonly<Record<string, string>>;
  /** Parameters of the query, by the service's own names. */
  readonly query?: Readonly<Record<string, string>>;
  /** Added to the parameters unchanged. */
  readonly paging?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** The content of an uploaded file. */
  readonly file?: string;
}

function fillPath(path: string, values: Readonly<Record<string, string>> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
}

function upload(url: string, token: string, field: string, content: string) {
  const form = new FormData();
  form.set(field, new Blob([content]), 'a.txt');
  return fetch(url, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: form }).then(
    async (response) => ({ status: response.status, headers: response.headers, text: await response.text() }),
  );
}

export interface DocumentedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A client that knows only the document of the service. */
export async function documentedClient({ sandbox, token }: TestSandbox) {
  const document: Document = (await call('GET', `${sandbox.baseUrl}/openapi.json`)).json;
  const plain = createDocument(PLAIN, '');
  const send = async (
    id: string,
    { path, query = {}, paging = {}, body, file }: Sent = {},
  ): Promise<DocumentedResponse> => {
    const own = findOperation(plain, id);
    const other = findOperation(document, id);
    const url = `${sandbox.baseUrl}${fillPath(other.path, path)}`;
    const form = other.operation.requestBody?.content['multipart/form-data']?.schema;
    if (file !== undefined) return upload(url, token, Object.keys(form?.properties ?? {})[0] ?? '', file);
    const parameters = Object.entries(query).flatMap(([name, value]) => {
      const renamed = parameterName(own, other, name);
      return renamed === undefined ? [] : [[renamed, value]];
    });
    const chosen = { ...Object.fromEntries(parameters), ...paging };
    if (other.method === 'GET') return call('GET', `${url}?${new URLSearchParams(chosen)}`, { token });
    const isRead = own.method === 'GET';
    return call(other.method, url, {
      token,
      body: isRead ? chosen : translate(bodySchema(own) ?? {}, bodySchema(other) ?? {}, body),
    });
  };
  return { document, send };
}
