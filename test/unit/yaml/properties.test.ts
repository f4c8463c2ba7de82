import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import type { Manifest } from '../../../src/provision/manifest.ts';
import { anyCharacter, propertyRuns } from '../../support/properties.ts';
import { problemLines, type Reading, read, readAll } from '../manifests.ts';

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

/** The defects of the reported problems: each problem must be inside its source, printable, and in order. */
function faultsOf({ problems }: Reading, texts: readonly string[]): string[] {
  const linesOf = texts.map((text) => text.split('\n'));
  return problems.flatMap(({ source, line, column, excerpt, message }, index) => {
    const lines = linesOf[source.charCodeAt(0) - 97] ?? [];
    const previous = problems[index - 1];
    const isInside = line >= 1 && line <= lines.length && column >= 1 && column <= (lines[line - 1]?.length ?? 0) + 1;
    const isPrintable = !/[\p{Cc}\p{Bidi_Control}]/u.test(excerpt.replace('\n', '') + message);
    const isExcerpt = /^ *\d+ \| .*\n +\| +\^+$/.test(excerpt);
    const isInOrder =
      previous === undefined ||
      previous.source < source ||
      (previous.source === source && (previous.line - line || previous.column - column) <= 0);
    return isInside && isPrintable && isExcerpt && isInOrder ? [] : [`${source}:${line}:${column} ${excerpt}`];
  });
}

const styles = fc.record({ flow: fc.boolean(), wrap: fc.boolean() });

function expectReadsBack(values: readonly Manifest[], style: { flow: boolean; wrap: boolean }): void {
  const reading = read(yamlOf(values, style));
  expect(problemLines(reading)).toEqual([]);
  expect(reading.documents.map((document) => document.manifest)).toEqual(values);
}

const INSERTS = [
  '',
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
];
const edits = fc.array(
  fc.record({ from: fc.nat(), length: fc.nat(12), insert: fc.constantFrom(...INSERTS), twice: fc.boolean() }),
  { minLength: 1, maxLength: 3 },
);
const edited = fc.tuple(manifests, edits, fc.boolean()).map(([values, changesOfText, flow]) =>
  changesOfText.reduce(
    (yaml, { from, length, insert, twice }) => {
      const at = from % (yaml.length + 1);
      const cut = yaml.slice(at, at + length);
      return yaml.slice(0, at) + insert + (twice ? cut + cut : '') + yaml.slice(at + length);
    },
    yamlOf(values, { flow, wrap: false }),
  ),
);

function expectReadsAsYamlPackage(yaml: string): void {
  const reading = readAll([yaml]);
  expect(faultsOf(reading, [yaml])).toEqual([]);
  if (reading.problems.length > 0 || yaml.includes('${')) return;
  const plain = parseAllDocuments(yaml, { merge: true }).map((document) => document.toJS());
  expect(reading.documents.map((document) => document.manifest)).toEqual(plain.filter((value) => value !== null));
}

const numRuns = propertyRuns(100);

test('property: a valid manifest reads back as it was written', () => {
  fc.assert(fc.property(manifests, styles, expectReadsBack), { numRuns });
});

test('property: an edited valid text has problems, or is read as the yaml package reads it', () => {
  fc.assert(fc.property(edited, expectReadsAsYamlPackage), { numRuns });
});
