import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
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

const numRuns = propertyRuns(100);

test('property: A valid manifest reads back as it was written.', () => {
  const property = fc.property(manifests, styles, (values, style) => {
    const reading = read(yamlOf(values, style));
    expect(problemLines(reading)).toEqual([]);
    expect(reading.documents.map((document) => document.manifest)).toEqual(values);
  });
  fc.assert(property, { numRuns });
});
