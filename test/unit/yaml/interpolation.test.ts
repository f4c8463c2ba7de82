import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { interpolate } from '../../../src/yaml/interpolate.ts';
import { anyCharacter } from '../../support/properties.ts';
import { problemLines, read, VALID } from '../manifests.ts';

const lookup = (values: Readonly<Record<string, string>>) => (name: string) => values[name];

describe('interpolate', () => {
  test.each([
    ['${A}', 'x'],
    ['a ${A} ${_B1}!', 'a x y!'],
    ['${A:-d}', 'x'],
    ['${EMPTY:-d}', 'd'],
    ['${NONE:-d}', 'd'],
    ['${NONE:-}', ''],
    ['${EMPTY}', ''],
    ['${NONE:-a:-b "c"\n}', 'a:-b "c"\n'],
    ['$${A}', '${A}'],
    ['$$${A}', '$${A}'],
    ['${A}$${A}', 'x${A}'],
    ['$A $ {A} $$ }', '$A $ {A} $$ }'],
    ['${TRICK}', '${A} $${A}'],
  ])('turns %j into %j', (text, expected) => {
    const values = { A: 'x', _B1: 'y', EMPTY: '', TRICK: '${A} $${A}' };
    expect(interpolate(text, lookup(values))).toMatchObject({ text: expected, faults: [] });
  });

  test.each([
    ['${}', '"${}" is not a variable'],
    ['${1x}', '"${1x}" is not a variable'],
    ['${A:?b}', '"${A:?b}" is not a variable'],
    ['${ A }', '"${ A }" is not a variable'],
    ['${A-b}', '"${A-b}" is not a variable'],
    ['${A', '"${" has no closing "}"'],
    ['${A:-${B}}', 'the default of a variable cannot contain "${"'],
    ['${NONE}', 'the variable NONE is not set'],
    ['${PARTNER_TOKEN}', 'PARTNER_TOKEN cannot be used in a file'],
    ['${PARTNER_TOKEN:-x}', 'PARTNER_TOKEN cannot be used in a file'],
  ])('rejects %j: %s', (text, message) => {
    const { faults } = interpolate(`ab ${text}`, lookup({ A: 'x', PARTNER_TOKEN: 't' }));
    expect(faults).toMatchObject([{ at: 3, message }]);
  });

  test('property: does not change text without "${"', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!text.includes('${'));
        expect(interpolate(text, () => 'x')).toEqual({ text, faults: [], names: [], isSingle: false });
      }),
    );
  });

  test('property: escaped text reads back unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '{', '}', 'A', ' ') }), (text) => {
        fc.pre(!/\$\$\{/.test(text));
        expect(
          interpolate(
            text.replaceAll('${', () => '$${'),
            () => 'x',
          ).text,
        ).toBe(text);
      }),
    );
  });
});

describe('variables in a manifest', () => {
  test('are each reported at their own position if they are invalid', () => {
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

  test('are located correctly in block scalars', () => {
    const text = VALID.replace('Acme', () => 'A\n  description: | # ${NOT}\n    one\n    two ${A}\n\n    $${x} ${B}');
    expect(problemLines(read(text))).toEqual([
      'a.yaml:6:9 the variable A is not set',
      'a.yaml:8:11 the variable B is not set',
    ]);
    const folded = VALID.replace('Acme', 'A\n  description: >-\n    one\n    two ${A}');
    expect(problemLines(read(folded))).toEqual(['a.yaml:6:9 the variable A is not set']);
  });

  test('a "${" hidden by escapes is reported at the start of the value', () => {
    expect(problemLines(read(VALID.replace('Acme', () => '"\\x24{A} ${B}"')))).toEqual([
      'a.yaml:3:9 the variable A is not set',
      'a.yaml:3:9 the variable B is not set',
    ]);
  });

  test('a value with an invalid variable has no further problems', () => {
    expect(
      problemLines(read(VALID.replace('acme-001', '${A}').replace('template_id: tmpl_support', 'template_id: ${B}'))),
    ).toEqual(['a.yaml:1:20 the variable A is not set', 'a.yaml:5:18 the variable B is not set']);
  });

  test('values of variables are checked like any other, and never shown', () => {
    const text = VALID.replace('acme-001', '"${ID}"').replace('Support', 'S\n    api_chat_routing_mode: ${MODE}');
    const reading = read(text, { ID: '', MODE: 'session_workflo' });
    expect(JSON.stringify(reading)).not.toContain('did you mean');
    expect(problemLines(reading)).toEqual([
      'a.yaml:1:20 "external_space_id" must not be empty',
      'a.yaml:7:28 "agents[0].api_chat_routing_mode" must be agent_inbox or session_workflow, not the value of MODE',
    ]);
    expect(read(text, { ID: 'a', MODE: 'agent_inbox' }).documents[0]?.manifest).toMatchObject({
      external_space_id: 'a',
      agents: [{ api_chat_routing_mode: 'agent_inbox' }],
    });
    expect(problemLines(read(`${VALID}---\n${text}`, { ID: 'acme-001', MODE: 'agent_inbox' }))).toEqual([
      'a.yaml:8:20 the space "acme-001" is described twice, first at a.yaml:1:20',
    ]);
  });

  test('a variable alone and without quotes may be true or false', () => {
    const flag = (value: string) => VALID.replace('Acme', `A\n  is_org_wide: ${value}`);
    expect(read(flag('${F}'), { F: 'true' }).documents[0]?.manifest.space.is_org_wide).toBe(true);
    expect(read(flag('${F:-false}')).documents[0]?.manifest.space.is_org_wide).toBe(false);
    for (const [value, held] of [
      ['"${F}"', 'true'],
      ['${F}', 'yes'],
      ['${F}', 'TRUE'],
      ['${F}e', 'tru'],
      ['${F}', ''],
    ] as const) {
      expect(problemLines(read(flag(value), { F: held }))).toEqual([
        'a.yaml:4:16 "space.is_org_wide" must be true or false, not the value of F',
      ]);
    }
  });

  test('a variable in place of text stays text, even if it looks like a number', () => {
    for (const value of ['true', 'null', '007', '~']) {
      expect(read(VALID.replace('Acme', '${V}'), { V: value }).documents[0]?.manifest.space.name).toBe(value);
    }
  });

  test('property: no value of a variable changes the structure, and each arrives unchanged', () => {
    const text = VALID.replace('Acme', '${V}')
      .replace('Support', '"a ${V} b"')
      .concat('  - {template_id: t, name: "x${V:-d}"}\n');
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.boolean(), (noise, isYaml) => {
        const value = `v${isYaml ? '\n  - {a: [*b, "\n---\n<<: ${V}\n' : ''}${noise}`;
        const { documents, problems } = read(text, { V: value });
        expect(problems).toEqual([]);
        expect(documents.map(({ manifest }) => manifest)).toEqual([
          {
            external_space_id: 'acme-001',
            space: { name: value },
            agents: [
              { template_id: 'tmpl_support', name: `a ${value} b` },
              { template_id: 't', name: `x${value}` },
            ],
          },
        ]);
      }),
    );
  });
});
