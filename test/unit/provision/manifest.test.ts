import { expect, test } from 'vitest';
import { manifestSchema } from '../../../src/provision/manifest.ts';
import { jsonSchema } from '../../../src/yaml/json-schema.ts';

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

test('The JSON Schema of a manifest describes every field, and allows no other keys, and variables', () => {
  const check = (schema: unknown): number => {
    if (!isRecord(schema)) return 0;
    expect(schema).toMatchObject({ title: expect.any(String), description: expect.any(String) });
    if (schema.type === 'object') expect(schema.additionalProperties).toBe(false);
    const children = [...Object.values(isRecord(schema.properties) ? schema.properties : {}), schema.items];
    return 1 + children.map(check).reduce((sum, count) => sum + count, 0);
  };
  const schema = jsonSchema(manifestSchema);
  expect(check(schema)).toBe(22);
  expect(JSON.stringify(schema)).toContain('"session_workflow"],"type":"string"},{"type":"string","pattern":');
});
