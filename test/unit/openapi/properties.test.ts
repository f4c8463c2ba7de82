import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkLeaf } from '../../../src/contract/leaf-value.ts';
import { OpenApiError } from '../../../src/openapi/document.ts';
import { proposeFromOpenApi } from '../../../src/openapi/propose.ts';
import { findFlaw } from '../../../src/openapi/validate.ts';
import { startSandbox } from '../../../src/sandbox/index.ts';
import { type Data, list, object, openApi, operation, ref, text } from '../../support/openapi-documents.ts';
import { propertyRuns } from '../../support/properties.ts';

/** The keys and indexes that lead to a value in a JSON document. */
type Path = readonly (string | number)[];

/** Returns the paths of all values in a JSON document, the document's own (empty) path first. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [path, ...entries.flatMap(([key, inner]) => pathsIn(inner, [...path, key]))];
}

/** Returns a copy of a JSON document in which the value at a path is replaced. */
function replaceAt(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by;
  if (Array.isArray(value)) return value.map((inner, index) => (index === key ? replaceAt(inner, rest, by) : inner));
  if (typeof value !== 'object' || value === null) return value;
  return { ...value, [key]: replaceAt(Reflect.get(value, key), rest, by) };
}

async function fetchDocument(): Promise<unknown> {
  const sandbox = await startSandbox();
  const response = await fetch(`${sandbox.baseUrl}/openapi.json`);
  const document: unknown = await response.json();
  await sandbox.close();
  return document;
}

const document = await fetchDocument();
const paths = pathsIn(document);

const odd = fc.oneof(
  fc.constantFrom(null, true, 0, '', [], {}, 'GET', '#', '#/paths', '../../x', 'object', ['object', 1], '__proto__'),
  fc
    .constantFrom('#/components/schemas/Space', '#/components', 'other.yaml', '#/paths/~1~0', '#/__proto__')
    .map(($ref) => ({ $ref })),
  fc
    .constantFrom('allOf', 'oneOf', 'anyOf', 'properties', 'items')
    .map((key) => ({ [key]: [{ $ref: '#/components/schemas/Space' }] })),
  fc.jsonValue(),
);

test('A modified document yields valid leaves or an OpenApiError, never another error', async () => {
  const changes = fc.array(fc.tuple(fc.nat(), odd), { minLength: 1, maxLength: 6 });
  const property = fc.asyncProperty(changes, async (replacements) => {
    let changed = document;
    for (const [index, by] of replacements) {
      changed = replaceAt(changed, paths[index % paths.length] ?? [], by);
    }
    try {
      for (const { leaf, value } of (await proposeFromOpenApi(changed, '/v1')).proposals) checkLeaf(leaf, value);
    } catch (error) {
      expect(error).toBeInstanceOf(OpenApiError);
    }
  });
  await fc.assert(property, { numRuns: propertyRuns(60) });
});

test('Any other JSON is refused as not an OpenAPI document', async () => {
  const property = fc.asyncProperty(fc.jsonValue(), async (value) => {
    await expect(proposeFromOpenApi(value, '/v1')).rejects.toThrow(OpenApiError);
  });
  await fc.assert(property);
});

test('A reference into the prototypes of objects leads to nothing, and changes none', async () => {
  for (const $ref of ['#/__proto__', '#/constructor/prototype']) {
    const hostile = openApi({ '/automation/spaces/': { $ref, get: { $ref: '#/info' } } });
    await proposeFromOpenApi(hostile, '/v1').catch((error: unknown) => expect(error).toBeInstanceOf(OpenApiError));
  }
  expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('get');
});

test('A document whose references multiply is refused', async () => {
  const twice = (index: number): Data => ({ allOf: [ref(`S${index}`), ref(`S${index}`)] });
  const schemas = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`S${index}`, twice(index + 1)]));
  const deep = openApi({ '/automation/spaces/': { get: operation(list(ref('S0'))) } }, { ...schemas, S30: text });
  await expect(proposeFromOpenApi(deep, '/v1')).rejects.toThrow('it has too many references');
});

test('A flaw is found where it is deepest, by the schema of the version', () => {
  const flawed = openApi({ '/automation/spaces/': { get: operation(list(object('space_id'))) } });
  expect(findFlaw(document)).toBeUndefined();
  expect(findFlaw(flawed)).toMatch(
    /^#\/paths\/~1automation~1spaces~1\/get\/responses\/200 must have required property/,
  );
  const extra = { openapi: '3.0.3', info: { title: 'x', version: '1', extra: 1 }, paths: {} };
  expect(findFlaw(extra)).toBe('#/info must NOT have additional properties: extra');
});
