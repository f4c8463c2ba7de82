import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Contract, type LeafValues } from '../../../src/contract/contract.ts';
import type { Resource } from '../../../src/contract/field-names.ts';
import { Fields } from '../../../src/contract/fields.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import type { FieldLeaf } from '../../../src/contract/leaves.ts';

const RESOURCES = [
  'space',
  'agent',
  'message',
  'cron_job',
  'document',
  'source',
] as const satisfies readonly Resource[];

function fieldsFor(leaf: FieldLeaf, object: JsonObject, override: LeafValues = {}) {
  const resource = RESOURCES.find((name) => leaf.startsWith(`${name}.`)) ?? 'file_attachment';
  return new Fields(object, resource, new Contract({ override }));
}
const idOf = (leaf: FieldLeaf, object: JsonObject, override?: LeafValues) => fieldsFor(leaf, object, override).id(leaf);
const textOf = (leaf: FieldLeaf, object: JsonObject, override?: LeafValues) =>
  fieldsFor(leaf, object, override).text(leaf);

const refusal = (fix: object, more: object = {}) => expect.objectContaining({ fix, ...more });

describe('the command for a missing id', () => {
  it('names the suspicious field that is nested least', () => {
    const fields = fieldsFor('space.id', { key: 'k1', external_space_id: 'e1', name: 'Acme' });
    expect(() => fields.readId('space.id')).toThrow(refusal({ leaf: 'space.id', value: 'key' }));
  });

  it("never names another resource's id, and shows keys and types", () => {
    const object = { requestId: 'r1', operation_id: 'op1', agent_id: 'a1', name: 'secret' };
    const seen = expect.stringMatching(/^(?!.*secret).*name \(string\)/);
    const read = () => fieldsFor('space.id', object).readId('space.id');
    expect(read).toThrow(refusal({ leaf: 'space.id', value: '<path>' }, { seen }));
  });
});

it.each<[string, FieldLeaf, string, JsonObject, string]>([
  ['stays first where another name is seen', 'agent.id', 'data.entry.id', { id: 'a' }, 'data.entry.id, id'],
  ['is kept where nothing looks like it', 'agent.id', 'data.entry.id', { x: 'a' }, 'data.entry.id, <path>'],
  ['comes after the text in its object', 'agent.name', 'label', { label: { en: 'A' } }, 'label.en, label'],
  ['comes after the choice between two', 'agent.id', 'id|ref', { id: 'a', ref: 'b' }, 'id, id|ref'],
])('a setting that is there already %s', (_, leaf, set, object, value) => {
  for (const layer of ['override', 'imported']) {
    const fields = new Fields(object, 'agent', new Contract({ [layer]: { [leaf]: set } }));
    const read = () => (leaf === 'agent.id' ? fields.readId(leaf) : fields.text(leaf));
    expect(read).toThrow(refusal(expect.objectContaining({ leaf, value })));
  }
});

it('an object that holds the fields is named by the error, and read for all of them once it is set', () => {
  const item = { id: 's1', payload: { name: 'Acme', external_space_id: 'acme' } };
  const fix = { leaf: 'space.at', value: 'payload' };
  expect(() => fieldsFor('space.name', item).shownText('space.name')).toThrow(refusal(fix));
  const at = { 'space.at': 'payload' };
  expect(textOf('space.name', item, at)).toBe('Acme');
  expect(idOf('space.id', item, at)).toBe('s1');
  expect(idOf('agent.id', { meta: { agent: { id: 'a1' } } }, { 'agent.at': 'meta.agent' })).toBe('a1');
});

describe('a field', () => {
  it('is the first that is not null, at the top or under the name of its resource, and a number is a text', () => {
    expect(idOf('space.id', { space_id: '', id: 's1', metadata: { id: 'x' }, _: { space_id: 'x' } })).toBe('s1');
    expect(textOf('agent.name', { name: null, agent: { name: 'below' } })).toBe('below');
    expect(textOf('agent.name', { title: 'Dr.', name: 5 })).toBe('5');
    expect(fieldsFor('agent.name', { name: null }).value('agent.name')).toBeNull();
  });

  const spellings = [
    (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    (name: string) => name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()),
    (name: string) => name.replaceAll('_', '-'),
    (name: string) => name.toUpperCase(),
  ];
  const leaves: readonly FieldLeaf[] = ['space.external_space_id', 'message.created_at'];

  it('property: is recognized in every spelling, and rejected if two disagree', () => {
    const text = fc.string({ minLength: 1 });
    const property = fc.property(
      fc.constantFrom(...leaves),
      fc.constantFrom(...spellings),
      text,
      (leaf, spell, value) => {
        const name = leaf.split('.')[1] ?? '';
        const key = spell(name);
        expect(textOf(leaf, { [key]: value, [name]: value })).toBe(value);
        const disagreeing = () => textOf(leaf, { [key]: value, [name]: `${value}!` });
        expect(disagreeing).toThrow(refusal({ leaf, value: key, other: name }));
      },
    );
    fc.assert(property);
  });

  it('is read from a chosen path, whatever the spelling, and not from one that is chosen for another field', () => {
    const object = { name: 'x', Profile: { display_label: 'Support' } };
    expect(textOf('agent.name', object, { 'agent.name': 'profile.displayLabel' })).toBe('Support');
    const job = { name: 'CRO-1', job_name: 'daily' };
    const override = { 'cron_job.id': 'name' };
    expect(idOf('cron_job.id', job, override)).toBe('CRO-1');
    expect(textOf('cron_job.name', job, override)).toBe('daily');
    expect(textOf('cron_job.name', { name: 'CRO-1' }, override)).toBeUndefined();
  });
});
