import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Contract } from '../../../src/contract/contract.ts';
import type { Resource } from '../../../src/contract/field-names.ts';
import { type Fields, fieldsOf, findId } from '../../../src/contract/fields.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import type { FieldLeaf } from '../../../src/contract/leaves.ts';
import { UnknownShape } from '../../../src/contract/unknown-shape.ts';

const CONTRACT = new Contract();

function fieldsFor(leaf: FieldLeaf, object: JsonObject, contract: Contract): Fields {
  return fieldsOf(object, leaf.split('.')[0] as Resource, contract);
}

const findField = (object: JsonObject, contract: Contract, leaf: FieldLeaf) =>
  fieldsFor(leaf, object, contract).value(leaf);
const findText = (object: JsonObject, contract: Contract, leaf: FieldLeaf) =>
  fieldsFor(leaf, object, contract).text(leaf);
const readId = (object: JsonObject, contract: Contract, leaf: FieldLeaf) =>
  fieldsFor(leaf, object, contract).readId(leaf);

const refusalOf = (read: () => unknown): UnknownShape => {
  try {
    read();
  } catch (error) {
    if (error instanceof UnknownShape) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('an id', () => {
  it.each<[string, JsonObject, string]>([
    ['its own name', { space_id: 's1', id: 'x' }, 's1'],
    ['a plain id', { id: 's1' }, 's1'],
    ['a number', { space_id: 42 }, '42'],
    ['an object id of MongoDB', { _id: { $oid: '65f0c0' } }, '65f0c0'],
    ['zero', { id: 0 }, '0'],
    ['a number beyond what JavaScript counts exactly', { id: 1234567890123456789n }, '1234567890123456789'],
    ['one level down', { space: { space_id: 's1' } }, 's1'],
    ['a plain id one level down', { space: { id: 7 } }, '7'],
    ['an empty own name does not hide the plain id', { space_id: '', id: 's1' }, 's1'],
    ['another common name', { uuid: 's1' }, 's1'],
    ['the ARN of AWS', { spaceArn: 's1', name: 'Acme' }, 's1'],
    ['two names of the same value', { _id: 's1', id: 's1' }, 's1'],
    ['a number and its digits', { id: 7, pk: '7' }, '7'],
    ['next to its attributes', { type: 'spaces', id: 's1', attributes: { name: 'Acme' } }, 's1'],
    ['under attributes', { type: 'spaces', attributes: { space_id: 's1' } }, 's1'],
    ['under properties', { properties: { spaceId: 's1' } }, 's1'],
    ['under fields', { fields: { 'space-id': 's1' } }, 's1'],
    ['under resource', { resource: { SpaceId: 's1' } }, 's1'],
    ['as Twilio, ServiceNow, Algolia, or Asana name it', { sid: 's1', name: 'Acme' }, 's1'],
    ['a common name wins over a plain word for it', { id: 's1', sid: 'x', identifier: 'y' }, 's1'],
    ['at the top, whatever metadata holds', { id: 's1', metadata: { id: 'x' } }, 's1'],
    ['under its name next to links', { _links: {}, workspace: { id: 's1' } }, 's1'],
  ])('is found: %s', (_, object, expected) => {
    expect(findId(object, CONTRACT, 'space.id')).toBe(expected);
    expect(readId(object, CONTRACT, 'space.id')).toBe(expected);
  });

  it.each<[string, JsonObject]>([
    ['nothing', {}],
    ['null', { space_id: null, id: null }],
    ['empty', { space_id: '' }],
    ['blank', { space_id: ' ' }],
    ['an object', { space_id: { value: 's1' } }],
    ['true', { id: true }],
    ['that of another resource', { agent_id: 'a1' }],
    ['a fraction', { id: 1.5 }],
    ['only in metadata', { metadata: { id: 's1' } }],
    ['only in an object about something else', { owner: { id: 'u1' } }],
  ])('is missing: %s', (_, object) => {
    expect(findId(object, CONTRACT, 'space.id')).toBeUndefined();
    expect(refusalOf(() => readId(object, CONTRACT, 'space.id')).fix?.leaf).toBe('space.id');
  });

  it('property: a string or whole number is returned as text from any known place', () => {
    const id = fc.oneof(
      fc.string({ minLength: 1 }).filter((text) => text.trim() !== ''),
      fc.maxSafeInteger(),
      fc.bigInt(),
    );
    const place = fc.constantFrom<(value: unknown) => JsonObject>(
      (value) => ({ agent_id: value }),
      (value) => ({ id: value, name: 'x' }),
      (value) => ({ agent: { agent_id: value } }),
      (value) => ({ Agent: { id: value } }),
    );
    fc.assert(
      fc.property(id, place, (value, put) => {
        expect(findId(put(value), CONTRACT, 'agent.id')).toBe(String(value));
      }),
    );
  });
});

describe('the command that an error suggests for an id', () => {
  it.each<[FieldLeaf, JsonObject, string]>([
    ['space.id', { key: 'k1', external_space_id: 'e1', name: 'Acme' }, 'key'],
    ['space.id', { data: { spaceRef: 's1', externalSpaceId: 'e1' } }, 'data.spaceRef'],
    ['message.id', { envelope: { externalMessageId: 'e1', messageKey: 'm1' } }, 'envelope.messageKey'],
    ['document.id', { upload: { id: 'd1' } }, 'upload.id'],
  ])('names the suspicious field that is nested least: %s in %j', (leaf, object, value) => {
    expect(refusalOf(() => readId(object, CONTRACT, leaf)).fix).toEqual({ leaf, value });
  });

  it.each<[FieldLeaf, JsonObject]>([
    ['agent.id', { space_id: 's1', name: 'Support' }],
    ['agent.id', { owner: { id: 'u1' }, name: 'Support' }],
    ['message.id', { external_message_id: 'e1', text: 'Hi', bot_id: 'b1' }],
    ['space.id', { requestId: 'r1', name: 'Acme' }],
    ['space.id', { digest: 'd1', alias: 'a1', name: 'Acme' }],
    ['message.id', { text: 'Hi', role: 'assistant', subtype: 'bot_message' }],
    ['space.id', { state: 'pending', operation_id: 'op1' }],
    ['agent.id', { state: 'pending', taskId: 't1' }],
  ])("never names another resource's id, but lists the fields received: %s in %j", (leaf, object) => {
    const { fix, seen } = refusalOf(() => readId(object, CONTRACT, leaf));
    expect(fix).toEqual({ leaf, value: '<path>' });
    expect(seen).toContain(`${Object.keys(object).at(-1)} (string)`);
  });
});

describe('an object that holds the fields', () => {
  const item = { id: 's1', payload: { name: 'Acme', external_space_id: 'acme' } };

  it('is named by the error for a missing field', () => {
    const refusal = refusalOf(() => fieldsFor('space.name', item, CONTRACT).shownText('space.name'));
    expect(refusal.fix).toEqual({ leaf: 'space.at', value: 'payload' });
  });

  it('is read once it is set, for all fields', () => {
    const chosen = new Contract({ override: { 'space.at': 'payload' } });
    expect(findText(item, chosen, 'space.name')).toBe('Acme');
    expect(findText(item, chosen, 'space.external_space_id')).toBe('acme');
    expect(readId(item, chosen, 'space.id')).toBe('s1');
  });

  it('may be nested, and may be the whole resource', () => {
    const chosen = new Contract({ override: { 'agent.at': 'meta.agent' } });
    const nested = { meta: { agent: { id: 'a1', name: 'Support' } } };
    expect(readId(nested, chosen, 'agent.id')).toBe('a1');
    expect(findText(nested, chosen, 'agent.name')).toBe('Support');
  });
});

describe('a field', () => {
  it('is found at the top or under the name of its resource', () => {
    expect(findText({ agent: { name: 'below' } }, CONTRACT, 'agent.name')).toBe('below');
    expect(findText({ name: 5 }, CONTRACT, 'agent.name')).toBe('5');
    expect(findField({ is_org_wide: false }, CONTRACT, 'space.is_org_wide')).toBe(false);
  });

  it('is found below a null at the top', () => {
    expect(findText({ name: null, agent: { name: 'below' } }, CONTRACT, 'agent.name')).toBe('below');
    expect(findField({ name: null }, CONTRACT, 'agent.name')).toBeNull();
  });

  it('is rejected if it is not text, because it would be shown as if nothing was sent', () => {
    const refusal = refusalOf(() => findText({ name: { en: 'Support' } }, CONTRACT, 'agent.name'));
    expect(refusal).toMatchObject({ fix: { leaf: 'agent.name' }, seen: 'an object with name.en (string)' });
  });

  it('prefers an earlier name to a later one', () => {
    expect(findText({ title: 'Dr.', name: 'Acme' }, CONTRACT, 'space.name')).toBe('Acme');
  });

  const LEAVES: readonly FieldLeaf[] = [
    'space.external_space_id',
    'space.is_org_wide',
    'agent.template_id',
    'source.routing_mode',
    'cron_job.agent_id',
    'message.created_at',
  ];
  const spell = {
    camel: (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    pascal: (name: string) => name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()),
    kebab: (name: string) => name.replaceAll('_', '-'),
    constant: (name: string) => name.toUpperCase(),
  };

  it.each(LEAVES)('property: is recognized in every spelling of %s, and rejected if two disagree', (leaf) => {
    const name = leaf.split('.')[1] ?? '';
    const spelling = fc.constantFrom(...Object.values(spell)).map((change) => change(name));
    fc.assert(
      fc.property(spelling, fc.string({ minLength: 1 }), (key, text) => {
        expect(findText({ [key]: text }, CONTRACT, leaf)).toBe(text);
        expect(findText({ [key]: text, [name]: text }, CONTRACT, leaf)).toBe(text);
        const refusal = refusalOf(() => findText({ [key]: text, [name]: `${text}!` }, CONTRACT, leaf));
        expect(refusal.fix).toEqual({ leaf, value: key, other: name });
      }),
    );
  });

  it.each<[JsonObject, FieldLeaf, string]>([
    [{ name: 'a', agent: { name: 'b' } }, 'agent.name', 'name'],
    [{ id: 'a', uuid: 'b' }, 'space.id', 'id'],
    [{ id: 'a', documentId: 'b' }, 'space.id', 'id'],
    [{ id: 'a', attributes: { id: 'b' } }, 'space.id', 'id'],
    [{ space_id: 'a', space: { space_id: 'b' } }, 'space.id', 'space_id'],
  ])('is rejected if two equal candidates differ: %j', (object, leaf, value) => {
    const read = leaf.endsWith('.id') ? findId : findText;
    expect(refusalOf(() => read(object, CONTRACT, leaf)).fix).toMatchObject({ leaf, value });
    const chosen = new Contract({ override: { [leaf]: value } });
    expect(read(object, chosen, leaf)).toBe('a');
  });

  it('is not read from the field chosen for the id', () => {
    const contract = new Contract({ override: { 'cron_job.id': 'name' } });
    const job = { name: 'CRO-1', job_name: 'daily' };
    expect(findText(job, contract, 'cron_job.name')).toBe('daily');
    expect(findId(job, contract, 'cron_job.id')).toBe('CRO-1');
    expect(findText({ name: 'CRO-1' }, contract, 'cron_job.name')).toBeUndefined();
  });

  it('is read from a chosen path, whatever the spelling', () => {
    const chosen = new Contract({ override: { 'agent.name': 'profile.displayLabel' } });
    expect(findText({ name: 'x', Profile: { display_label: 'Support' } }, chosen, 'agent.name')).toBe('Support');
  });
});

describe('the error for a missing field', () => {
  it.each<[JsonObject, FieldLeaf, string]>([
    [{ customerRef: 'acme-1', name: 'Acme' }, 'space.external_space_id', 'customerRef'],
    [{ spaceKey: 's1', name: 'Acme' }, 'space.id', 'spaceKey'],
    [{ system: { agentKey: 'a1' }, name: 'Support' }, 'agent.id', 'system.agentKey'],
    [{ count: 3, on: true }, 'agent.id', '<path>'],
  ])('for %j suggests the path of %s', (object, leaf, value) => {
    expect(refusalOf(() => readId(object, CONTRACT, leaf)).fix).toEqual({ leaf, value });
  });

  it('shows keys and types, and no values', () => {
    const { seen } = refusalOf(() => readId({ ref: 'secret', id: null, size: 3 }, CONTRACT, 'space.id'));
    expect(seen).toBe('an object with ref (string), id (null), size (number)');
  });
});
