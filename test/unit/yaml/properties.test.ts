import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import type { Manifest } from '../../../src/provision/manifest.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { problemLines, type Reading, read, readAll } from '../../helpers/manifests.ts';

const letters = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
const text = fc
  .oneof(
    letters,
    fc.string({ unit: anyCharacter, maxLength: 30 }),
    fc.constantFrom('true', '~', '- a', '*b', '!c', '#', 'a: b', '---\n'),
  )
  .filter((value) => value.isWellFormed() && !value.includes('${'));
const name = text.filter((value) => /\S/.test(value));
const id = letters.filter((value) => value.trim() === value && !/[\p{Cc}\u2028\u2029]|\$\{/u.test(value));

const manifest: fc.Arbitrary<Manifest> = fc.record({
  external_space_id: id,
  space: fc.record({ name, description: text, is_org_wide: fc.boolean() }, { requiredKeys: ['name'] }),
  agents: fc.uniqueArray(
    fc.record(
      {
        template_id: id,
        name,
        auto_create_api_chat: fc.boolean(),
        api_chat_routing_mode: fc.constantFrom('agent_inbox' as const, 'session_workflow' as const),
      },
      { requiredKeys: ['template_id', 'name'] },
    ),
    { minLength: 1, maxLength: 4, selector: (agent) => `${agent.template_id}\n${agent.name}` },
  ),
});

const manifests = fc.uniqueArray(manifest, { minLength: 1, maxLength: 4, selector: (one) => one.external_space_id });

function yamlOf(values: readonly unknown[], options: { flow: boolean; wrap: boolean }): string {
  const settings = {
    collectionStyle: options.flow ? ('flow' as const) : ('any' as const),
    lineWidth: options.wrap ? 20 : 0,
  };
  return values.map((value) => `---\n${stringify(value, settings)}`).join('');
}

function expectSound({ problems }: Reading, texts: readonly string[]): void {
  for (const { source, line, column, excerpt, message } of problems) {
    const lines = (texts[source.charCodeAt(0) - 97] ?? '').split('\n');
    expect(line).toBeGreaterThanOrEqual(1);
    expect(line).toBeLessThanOrEqual(lines.length);
    expect(column).toBeGreaterThanOrEqual(1);
    expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1);
    expect(excerpt).toMatch(/^ *\d+ \| .*\n +\| +\^+$/);
    expect(excerpt.replace('\n', '') + message).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  }
  const order = problems.map(({ source, line, column }) => [source, line, column] as const);
  const sorted = order.toSorted((a, b) => a[0].localeCompare(b[0]) || a[1] - b[1] || a[2] - b[2]);
  expect(order).toEqual(sorted);
}

type Change = (value: Record<string, unknown>, agent: Record<string, unknown>, space: Record<string, unknown>) => void;

const WRONG: unknown[] = [null, 5, true, [], {}, ''];

const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.constantFrom('external_space_id', 'space', 'agents').map(
    (key): Change =>
      (value) =>
        delete value[key],
  ),
  fc.constantFrom('template_id', 'name').map(
    (key): Change =>
      (_, agent) =>
        delete agent[key],
  ),
  fc.constant<Change>((_, __, space) => delete space.name),
  fc.tuple(fc.constantFrom('external_space_id', 'space', 'agents'), fc.constantFrom(...WRONG)).map(
    ([key, wrong]): Change =>
      (value) => {
        value[key] = wrong;
      },
  ),
  fc.tuple(fc.constantFrom('template_id', 'name'), fc.constantFrom(...WRONG)).map(
    ([key, wrong]): Change =>
      (_, agent) => {
        agent[key] = wrong;
      },
  ),
  fc.tuple(fc.constantFrom('is_org_wide', 'description'), fc.constantFrom(null, 5, [], {})).map(
    ([key, wrong]): Change =>
      (_, __, space) => {
        space[key] = wrong;
      },
  ),
  fc
    .tuple(
      fc.constantFrom('auto_create_api_chat', 'api_chat_routing_mode'),
      fc.constantFrom(...WRONG.filter((wrong) => wrong !== true), 'yes'),
    )
    .map(
      ([key, wrong]): Change =>
        (_, agent) => {
          agent[key] = wrong;
        },
    ),
  fc.tuple(fc.nat(2), fc.string({ unit: 'grapheme', minLength: 1 })).map(
    ([where, key]): Change =>
      (value, agent, space) => {
        ([value, agent, space][where] ?? value)[`x${key}`] = 'unknown';
      },
  ),
  fc.constantFrom('${UNSET}', '${', '${}', 'a ${1} b', '${PARTNER_TOKEN}').map(
    (wrong): Change =>
      (_, agent) => {
        agent.name = wrong;
      },
  ),
);

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

describe('property:', () => {
  test('a valid manifest reads back as it was written', () => {
    fc.assert(
      fc.property(manifests, fc.record({ flow: fc.boolean(), wrap: fc.boolean() }), (values, options) => {
        const reading = read(yamlOf(values, options));
        expect(problemLines(reading)).toEqual([]);
        expect(reading.documents.map((document) => document.manifest)).toEqual(values);
      }),
    );
  });

  test('any single mistake is reported in its own document, and the others are read', () => {
    fc.assert(
      fc.property(manifests, fc.nat(), changes, (values, at, change) => {
        const index = at % values.length;
        const mutated: unknown[] = structuredClone(values);
        const target = mutated[index];
        if (!isRecord(target) || !isRecord(target.space) || !Array.isArray(target.agents)) return;
        const agent: unknown = target.agents[0];
        if (!isRecord(agent)) return;
        change(target, agent, target.space);
        const texts = mutated.map((value) => yamlOf([value], { flow: false, wrap: false }));
        const first = texts.slice(0, index).join('').split('\n').length;
        const reading = read(texts.join(''));
        expect(reading.problems.length).toBeGreaterThan(0);
        expectSound(reading, [texts.join('')]);
        for (const { line } of reading.problems) {
          expect(line).toBeGreaterThanOrEqual(first);
          expect(line).toBeLessThan(first + (texts[index] ?? '').split('\n').length);
        }
        expect(reading.documents).toHaveLength(values.length - 1);
      }),
    );
  });

  test('any text is read without an exception, and its problems are inside it', () => {
    const marks = fc.constantFrom(
      ...'-?:,[]{}#&*!|>\'"%@`\\ \n\t~$'.split(''),
      ...[
        '---\n',
        '...\n',
        '\r\n',
        '\r',
        '${',
        '${A}',
        '<<: ',
        '&a ',
        '*a',
        'a: ',
        '- ',
        '? ',
        '!!str ',
        '\uFEFF',
        '\u0000',
        '\u001f',
        '\u0002',
        '\u0018',
        '\ud800',
      ],
    );
    const soup = fc.array(fc.oneof(marks, marks, fc.string({ unit: anyCharacter, maxLength: 5 })), { maxLength: 60 });
    fc.assert(
      fc.property(
        fc.array(
          soup.map((parts) => parts.join('')),
          { minLength: 1, maxLength: 3 },
        ),
        (texts) => {
          const reading = readAll(texts, { A: 'x' });
          expect(reading.documents).toEqual([]);
          expect(reading.problems.length).toBeGreaterThan(0);
          expectSound(
            reading,
            texts.map((text) => text.replace(/^\uFEFF/, '')),
          );
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('an edited valid text has problems, or reads as the yaml package reads it', () => {
    const edit = fc.record({
      from: fc.nat(),
      length: fc.nat(12),
      insert: fc.oneof(
        fc.constant(''),
        fc.constantFrom(
          '\n',
          '  ',
          '\t',
          '"',
          "'",
          '[',
          '{',
          ': ',
          '- ',
          '#',
          '&a ',
          '*a',
          '${',
          '}',
          '---\n',
          '!',
          '|',
          '\r',
        ),
      ),
      twice: fc.boolean(),
    });
    fc.assert(
      fc.property(manifests, fc.array(edit, { minLength: 1, maxLength: 3 }), fc.boolean(), (values, edits, flow) => {
        const edited = edits.reduce(
          (yaml, { from, length, insert, twice }) => {
            const at = from % (yaml.length + 1);
            const cut = yaml.slice(at, at + length);
            return yaml.slice(0, at) + insert + (twice ? cut + cut : '') + yaml.slice(at + length);
          },
          yamlOf(values, { flow, wrap: false }),
        );
        const reading = readAll([edited]);
        expectSound(reading, [edited]);
        if (reading.problems.length > 0 || edited.includes('${')) return;
        const plain = parseAllDocuments(edited, { merge: true }).map((document) => document.toJS());
        expect(reading.documents.map((document) => document.manifest)).toEqual(plain.filter((value) => value !== null));
      }),
      { numRuns: 1000 },
    );
  });
});
