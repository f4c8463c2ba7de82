import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { interpolate } from '../../../src/yaml/interpolate.ts';
import { anyCharacter } from '../../support/properties.ts';
import { problemLines, read, VALID } from '../manifests.ts';

const lookup = (values: Readonly<Record<string, string>>) => (name: string) => values[name];

test('Variables are replaced, with defaults and escapes, and what is none is named.', () => {
  const values = { A: 'x', _B1: 'y', EMPTY: '', TRICK: '${A} $${A}', PARTNER_TOKEN: 't' };
  for (const [text, expected] of [
    ['a ${A} ${_B1}!', 'a x y!'],
    ['${EMPTY:-d}${NONE:-d}${NONE:-}${EMPTY}', 'dd'],
    ['${NONE:-a:-b "c"\n}', 'a:-b "c"\n'],
    ['$${A} $$${A} ${A}$${A}', '${A} $${A} x${A}'],
    ['$A $ {A} $$ }', '$A $ {A} $$ }'],
    ['${TRICK}', '${A} $${A}'],
  ] as const) {
    expect(interpolate(text, lookup(values))).toMatchObject({ text: expected, faults: [] });
  }
  for (const [text, message] of [
    ['${}', '"${}" is not a variable'],
    ['${A:?b}', '"${A:?b}" is not a variable'],
    ['${A', '"${" is not a variable'],
    ['${A:-${B}}', '"${A:-${B}" is not a variable'],
    ['${NONE}', 'the variable NONE is not set'],
    ['${PARTNER_TOKEN:-x}', 'PARTNER_TOKEN cannot be used in a file'],
  ] as const) {
    expect(interpolate(`ab ${text}`, lookup(values)).faults).toMatchObject([{ message }]);
  }
});

describe('Variables in a manifest', () => {
  test('are each reported if they are invalid, and the value has no further problems.', () => {
    const text = VALID.replace('Acme', 'x ${A} y ${1x}').replace('Support', '"\\t${C} ${PARTNER_TOKEN}"');
    const reading = read(text, { PARTNER_TOKEN: 'secret' });
    expect(problemLines(reading)).toEqual([
      'a.yaml:3:9 the variable A is not set',
      'a.yaml:3:9 "${1x}" is not a variable',
      'a.yaml:6:11 the variable C is not set',
      'a.yaml:6:11 PARTNER_TOKEN cannot be used in a file',
    ]);
    expect(JSON.stringify(reading)).not.toContain('secret');
    expect(reading.problems[0]?.excerpt).toBe('   3 |   name: x ${A} y ${1x}\n     |         ^^^^^^^^^^^^^^');
  });

  test('have values that are text, checked like any other, and never shown.', () => {
    const text = VALID.replace('acme-001', '"${ID}"')
      .replace('Acme', 'Acme\n  is_org_wide: ${FLAG}')
      .replace('Support', 'S\n    api_chat_routing_mode: ${MODE}');
    const reading = read(text, { ID: '', MODE: 'session_workflo', FLAG: 'true' });
    expect(JSON.stringify(reading)).not.toContain('did you mean');
    expect(problemLines(reading)).toEqual([
      'a.yaml:1:20 "external_space_id" must not be empty',
      'a.yaml:4:16 "space.is_org_wide" must be true or false, not the value of FLAG',
      'a.yaml:8:28 "agents[0].api_chat_routing_mode" must be agent_inbox or session_workflow, not the value of MODE',
    ]);
  });

  test('property: never change the structure, and each arrives unchanged.', () => {
    const text = VALID.replace('Acme', '${V}').replace('Support', '"a ${V} b"');
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.boolean(), (noise, isYaml) => {
        const value = `v${isYaml ? '\n  - {a: [*b, "\n---\n<<: ${V}\n' : ''}${noise}`;
        const { documents, problems } = read(text, { V: value });
        expect(problems).toEqual([]);
        expect(documents.map(({ manifest }) => manifest)).toMatchObject([
          { space: { name: value }, agents: [{ name: `a ${value} b` }] },
        ]);
      }),
    );
  });
});
