import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { interpolate } from '../../../src/yaml/interpolate.ts';
import { anyCharacter } from '../../support/properties.ts';
import { problemLines, read, VALID } from '../manifests.ts';

const lookup = (values: Readonly<Record<string, string>>) => (name: string) => values[name];

describe('interpolate', () => {
  test('replaces variables, with defaults and escapes, and rejects what is none', () => {
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
      ['${A', '"${" has no closing "}"'],
      ['${A:-${B}}', 'the default of a variable cannot contain "${"'],
      ['${NONE}', 'the variable NONE is not set'],
      ['${PARTNER_TOKEN:-x}', 'PARTNER_TOKEN cannot be used in a file'],
    ] as const) {
      expect(interpolate(`ab ${text}`, lookup(values)).faults).toMatchObject([{ message }]);
    }
  });

  test('property: leaves text without "${", and escaped text, as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '{', '}', 'A', ' ') }), (text) => {
        fc.pre(!/\$\$\{/.test(text));
        const escaped = text.replaceAll('${', () => '$${');
        expect(interpolate(escaped, () => 'x')).toEqual({ text, faults: [], names: [], isSingle: false });
      }),
    );
  });
});

describe('variables in a manifest', () => {
  test('are each reported at their own position if they are invalid, and the value has no further problems', () => {
    const text = VALID.replace('Acme', 'x ${A} y ${1x} z ${B}').replace('Support', '"\\t${C} ${PARTNER_TOKEN}"');
    const reading = read(text, { PARTNER_TOKEN: 'secret' });
    expect(problemLines(reading)).toEqual([
      'a.yaml:3:11 the variable A is not set',
      'a.yaml:3:18 "${1x}" is not a variable',
      'a.yaml:3:26 the variable B is not set',
      'a.yaml:6:14 the variable C is not set',
      'a.yaml:6:19 PARTNER_TOKEN cannot be used in a file',
    ]);
    expect(JSON.stringify(reading)).not.toContain('secret');
    expect(reading.problems[0]?.excerpt).toBe('   3 |   name: x ${A} y ${1x} z ${B}\n     |           ^^^^');
  });

  test('are located in block scalars, and at the start of the value where escapes hide them', () => {
    const text = VALID.replace('Acme', () => '"\\x24{A}"\n  description: |\n    two ${A}\n\n    $${x} ${B}');
    expect(problemLines(read(text))).toEqual([
      'a.yaml:3:9 the variable A is not set',
      'a.yaml:5:9 the variable A is not set',
      'a.yaml:7:11 the variable B is not set',
    ]);
  });

  test('have values that are checked like any other, and never shown', () => {
    const text = VALID.replace('acme-001', '"${ID}"').replace('Support', 'S\n    api_chat_routing_mode: ${MODE}');
    const reading = read(text, { ID: '', MODE: 'session_workflo' });
    expect(JSON.stringify(reading)).not.toContain('did you mean');
    expect(problemLines(reading)).toEqual([
      'a.yaml:1:20 "external_space_id" must not be empty',
      'a.yaml:7:28 "agents[0].api_chat_routing_mode" must be agent_inbox or session_workflow, not the value of MODE',
    ]);
  });

  test('alone and without quotes may be true or false, where the field is', () => {
    const flag = (value: string) => VALID.replace('Acme', `A\n  is_org_wide: ${value}`);
    expect(read(flag('${F}'), { F: 'true' }).documents[0]?.manifest.space.is_org_wide).toBe(true);
    expect(read(flag('${F:-false}')).documents[0]?.manifest.space.is_org_wide).toBe(false);
    expect(read(VALID.replace('Acme', '${V}'), { V: 'true' }).documents[0]?.manifest.space.name).toBe('true');
    for (const [value, held] of [
      ['"${F}"', 'true'],
      ['${F}e', 'tru'],
    ] as const) {
      const message = '"space.is_org_wide" must be true or false, not the value of F';
      expect(problemLines(read(flag(value), { F: held }))).toEqual([`a.yaml:4:16 ${message}`]);
    }
  });

  test('property: no value of a variable changes the structure, and each arrives unchanged', () => {
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
