/** An object of any kind: the OpenAPI documents of these tests are written as data. */
export type Data = Record<string, unknown>;

/** A document with these paths, relative to `/v1`. */
export function openApi(paths: Data, schemas: Data = {}, more: Data = {}): Data {
  return {
    openapi: '3.1.0',
    info: { title: 'Partner API', version: '1.4.0' },
    servers: [{ url: 'https://api.example.com/v1' }],
    paths,
    components: { schemas },
    ...more,
  };
}

export const text = { type: 'string' };
export const ref = (name: string): Data => ({ $ref: `#/components/schemas/${name}` });
export const list = (items: Data): Data => ({ type: 'array', items });

/** An object schema; names without a schema are texts. */
export function object(...properties: readonly (string | Data)[]): Data {
  const entries = properties.map((each) => (typeof each === 'string' ? { [each]: text } : each));
  return { type: 'object', properties: Object.assign({}, ...entries) };
}

const json = (schema: Data, type = 'application/json'): Data => ({ content: { [type]: { schema } } });

/** Query parameters; names without a schema are texts. */
export function query(...names: readonly (string | Data)[]): Data[] {
  return names
    .flatMap((each): [string, unknown][] => (typeof each === 'string' ? [[each, text]] : Object.entries(each)))
    .map(([name, schema]) => ({ name, in: 'query', schema }));
}

/** An operation: `operationId`, its input, and its output. */
export function operation(response: Data | undefined, more: Data = {}): Data {
  return { responses: { '200': response === undefined ? { description: 'done' } : json(response) }, ...more };
}

/** An operation that takes a JSON body. */
export function write(body: Data, response: Data, more: Data = {}): Data {
  return operation(response, { requestBody: json(body), ...more });
}
