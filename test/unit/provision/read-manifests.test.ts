import { describe, expect, test } from 'vitest';
import { manifestSchema } from '../../../src/provision/manifest.ts';
import { jsonSchema } from '../../../src/yaml/json-schema.ts';
import { changed, problemLines, read, readAll, VALID } from '../manifests.ts';

describe('keys', () => {
  test('of the prototype are unknown like others, and the hint lists the valid keys', () => {
    for (const key of ['__proto__', 'constructor']) {
      const reading = read(`${VALID}${key}: {polluted: true}\n`);
      expect(problemLines(reading)).toEqual([`a.yaml:7:1 unknown key "${key}"`]);
      expect(reading.problems[0]?.hint).toBe('valid keys: external_space_id, space, agents, ignore');
    }
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test.each([
    ['1: x', 'a.yaml:7:1 unknown key "1"'],
    ['? [a]\n: x', 'a.yaml:7:3 invalid YAML: With stringKeys, all keys must be strings'],
    ['${KEY}: x', 'a.yaml:7:1 variables can be used in values, not in keys'],
  ])('must be plain text: %s', (line, message) => {
    expect(problemLines(read(`${VALID}${line}\n`))).toEqual([message]);
  });
});

describe('values', () => {
  test.each<[string, string, string, string?]>([
    ['acme-001', '007', '1:20 "external_space_id" must be text, not 7', 'put quotes around it'],
    ['acme-001', '" a"', '1:20 "external_space_id" must not start or end with white space, or contain a line break'],
    [
      'Support',
      'S\n    api_chat_routing_mode: agent_inbox\n    chat: { routing_mode: session_workflow }',
      '8:27 "agents[0].chat.routing_mode" must be the same as "api_chat_routing_mode": an agent has one source',
    ],
  ])('%s replaced by %s', (from, to, message, hint) => {
    const reading = read(changed(from, to));
    expect(problemLines(reading)).toEqual([`a.yaml:${message}`]);
    expect(reading.problems[0]?.hint).toBe(hint);
    expect(reading.documents).toEqual([]);
  });

  test('that are names may be any text', () => {
    const name = '\u001b[1m\t\n日本語 \u202e👩‍👩‍👧 "\'#: ';
    const reading = read(changed('Support', JSON.stringify(name)));
    expect(reading.documents[0]?.manifest.agents[0]?.name).toBe(name);
  });
});

describe('duplicates', () => {
  test('of an agent are reported, also in another Unicode form; a template or a name alone may be shared', () => {
    const [composed, decomposed] = ['Café'.normalize('NFC'), 'Café'.normalize('NFD')];
    const text = changed('Support', composed).concat(`  - { template_id: tmpl_support, name: ${decomposed} }\n`);
    expect(problemLines(read(text))).toEqual([
      'a.yaml:7:40 this agent has the same template and name as the one at a.yaml:6',
    ]);
    const agents = '  - {template_id: tmpl_support, name: B}\n  - {template_id: other, name: Support}\n';
    expect(problemLines(read(VALID + agents))).toEqual([]);
  });

  test('are none if the ids of two spaces differ in their Unicode form', () => {
    const ids = ['café'.normalize('NFC'), 'café'.normalize('NFD')];
    expect(problemLines(readAll(ids.map((id) => changed('acme-001', id))))).toEqual([]);
  });
});

test('The JSON Schema of a manifest describes every field, and allows no other keys, and variables', () => {
  const schema = JSON.parse(JSON.stringify(jsonSchema(manifestSchema)), (_, value) => {
    if (value?.type === 'object') expect(value.additionalProperties).toBe(false);
    for (const field of Object.values(value?.properties ?? {})) {
      expect(field).toMatchObject({ description: expect.any(String) });
    }
    return value;
  });
  expect(JSON.stringify(schema)).toContain('"session_workflow"],"type":"string"},{"type":"string","pattern":');
});
