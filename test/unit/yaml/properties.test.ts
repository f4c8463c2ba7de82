import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import type { Manifest } from '../../../src/provision/manifest.ts';
import { anyCharacter, propertyRuns } from '../../support/properties.ts';
import { problemLines, read } from '../manifests.ts';

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

const styles = fc.record({ flow: fc.boolean(), wrap: fc.boolean() });

const INSERTS = ['', '  ', ': ', '- ', '&a ', '*a', '${', '---\n', ...'\n\t"\'[{#}!|\r'];
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

const numRuns = propertyRuns(100);

test('property: a valid manifest reads back as it was written', () => {
  const property = fc.property(manifests, styles, (values, style) => {
    const reading = read(yamlOf(values, style));
    expect(problemLines(reading)).toEqual([]);
    expect(reading.documents.map((document) => document.manifest)).toEqual(values);
  });
  fc.assert(property, { numRuns });
});

// Where problems are is in test/slow/fuzz.slow.ts.
test('property: an edited valid text has problems, or is read as the yaml package reads it', () => {
  const property = fc.property(edited, (yaml) => {
    const reading = read(yaml);
    if (reading.problems.length > 0 || yaml.includes('${')) return;
    const plain = parseAllDocuments(yaml, { merge: true }).map((document) => document.toJS());
    expect(reading.documents.map((document) => document.manifest)).toEqual(plain.filter((value) => value !== null));
  });
  fc.assert(property, { numRuns });
});
