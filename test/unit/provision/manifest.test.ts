import { describe, expect, test } from 'vitest';
import { manifestSchema } from '../../../src/provision/manifest.ts';
import { jsonSchema } from '../../../src/yaml/json-schema.ts';

const manifestJsonSchema = jsonSchema(manifestSchema);

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function at(path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), manifestJsonSchema);
}

const variable = { type: 'string', pattern: '^\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}$' };

describe('the JSON Schema of a manifest', () => {
  test('is draft 7, allows no other keys, and lists the required ones', () => {
    expect(at('$schema')).toBe('http://json-schema.org/draft-07/schema#');
    expect(at('required')).toEqual(['external_space_id', 'space', 'agents']);
    expect(at('properties.space.required')).toEqual(['name']);
    expect(at('properties.agents.items.required')).toEqual(['template_id', 'name']);
    const agent = 'properties.agents.items.';
    for (const path of ['', 'properties.space.', agent, `${agent}properties.chat.`]) {
      expect(at(`${path}additionalProperties`)).toBe(false);
    }
    expect(at('properties.agents.minItems')).toBe(1);
    expect(at('properties.agents.items.properties.chat.required')).toEqual([]);
    expect(() => JSON.stringify(manifestJsonSchema)).not.toThrow();
  });

  test('has a title and a description for every field', () => {
    const check = (schema: unknown): number => {
      if (!isRecord(schema)) return 0;
      expect(schema.title).toEqual(expect.any(String));
      expect(schema.description).toEqual(expect.any(String));
      const children = [...Object.values(isRecord(schema.properties) ? schema.properties : {}), schema.items];
      return 1 + children.map(check).reduce((sum, count) => sum + count, 0);
    };
    expect(check(manifestJsonSchema)).toBe(22);
  });

  test('allows a variable in place of booleans and fixed values', () => {
    expect(at('properties.space.properties.is_org_wide.anyOf')).toEqual([{ type: 'boolean' }, variable]);
    expect(at('properties.agents.items.properties.api_chat_routing_mode.anyOf')).toEqual([
      { type: 'string', enum: ['agent_inbox', 'session_workflow'] },
      variable,
    ]);
    expect(at('properties.agents.items.properties.chat.properties.routing_mode.anyOf')).toEqual([
      { type: 'string', enum: ['agent_inbox', 'session_workflow'] },
      variable,
    ]);
    const pattern = new RegExp(variable.pattern, 'u');
    expect(['${A}', '${A:-true}'].every((text) => pattern.test(text))).toBe(true);
    expect(['true', 'x${A}', '${1}', '$${A}'].some((text) => pattern.test(text))).toBe(false);
  });

  test('rejects white space around ids', () => {
    const pattern = new RegExp(String(at('properties.external_space_id.pattern')), 'u');
    expect(['a', 'a b', '${A}'].every((text) => pattern.test(text))).toBe(true);
    expect(['', ' a', 'a ', 'a\nb'].some((text) => pattern.test(text))).toBe(false);
  });
});
