import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkLeaf } from '../../../../src/contract/check-leaf.ts';
import { OpenApiError } from '../../../../src/contract/openapi/document.ts';
import { proposeFromOpenApi } from '../../../../src/contract/openapi/propose.ts';
import { startSandbox } from '../../../../src/sandbox/index.ts';
import { propertyRuns } from '../../../support/properties.ts';
import { pathsIn, replaceAt } from './json-paths.ts';

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
  fc.constantFrom('#/components/schemas/Space', '#/components', 'other.yaml', '#/paths/~1~0').map(($ref) => ({ $ref })),
  fc
    .constantFrom('allOf', 'oneOf', 'anyOf', 'properties', 'items')
    .map((key) => ({ [key]: [{ $ref: '#/components/schemas/Space' }] })),
  fc.jsonValue(),
);

test('a modified document yields valid leaves or an OpenApiError, never another error', () => {
  const changes = fc.array(fc.tuple(fc.nat(), odd), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(changes, (replacements) => {
      let changed = document;
      for (const [index, by] of replacements) {
        changed = replaceAt(changed, paths[index % paths.length] ?? [], by);
      }
      try {
        for (const { leaf, value } of proposeFromOpenApi(changed, '/v1').proposals) checkLeaf(leaf, value);
      } catch (error) {
        expect(error).toBeInstanceOf(OpenApiError);
      }
    }),
    { numRuns: propertyRuns(60) },
  );
});

test('any other JSON is rejected as not an OpenAPI document', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(() => proposeFromOpenApi(value, '/v1')).toThrow(OpenApiError);
    }),
  );
});
