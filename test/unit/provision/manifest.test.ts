import { expect, test } from 'vitest';
import { manifestSchema } from '../../../src/provision/manifest.ts';
import { jsonSchema } from '../../../src/yaml/json-schema.ts';

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

test('The JSON Schema of a manifest has a title and a description for every field, and allows no other keys', () => {
  const check = (schema: unknown): number => {
    if (!isRecord(schema)) return 0;
    expect(schema).toMatchObject({ title: expect.any(String), description: expect.any(String) });
    if (schema.type === 'object') expect(schema.additionalProperties).toBe(false);
    const children = [...Object.values(isRecord(schema.properties) ? schema.properties : {}), schema.items];
    return 1 + children.map(check).reduce((sum, count) => sum + count, 0);
  };
  expect(check(jsonSchema(manifestSchema))).toBe(22);
});

test('The JSON Schema of a manifest allows a variable in place of booleans and fixed values', () => {
  const variable = { type: 'string', pattern: '^\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}$' };
  const mode = { anyOf: [{ type: 'string', enum: ['agent_inbox', 'session_workflow'] }, variable] };
  expect(jsonSchema(manifestSchema)).toMatchObject({
    properties: {
      space: { required: ['name'], properties: { is_org_wide: { anyOf: [{ type: 'boolean' }, variable] } } },
      agents: { minItems: 1, items: { properties: { api_chat_routing_mode: mode } } },
    },
  });
});
