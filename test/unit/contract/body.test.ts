import { describe, expect, it } from 'vitest';
import { readList } from '../../../src/contract/body.ts';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { UnknownShape } from '../../../src/contract/unknown-shape.ts';

const ITEMS = [{ space_id: 'a' }, { space_id: 'b' }];
const read = (body: unknown, place?: readonly string[]) => readList(body, OPERATIONS.listSpaces, place);

describe('the list of a response', () => {
  it.each([
    ['a bare array', ITEMS],
    ['its own name, in Pascal case', { Spaces: ITEMS }],
  ])('is recognized: %s', (_, body) => {
    expect(read(body)).toEqual(ITEMS);
  });

  it.each([[[]], [null], [{ _links: { self: { href: '/' } }, page: { totalElements: 0 } }]])(
    'may be empty: %j',
    (body) => {
      expect(read(body)).toEqual([]);
    },
  );

  it.each([['spaces'], [{}], [['a', 'b']], [{ results: [{ space_id: 'a' }, null] }]])(
    'is refused with a description of the body: %j',
    (body) => {
      expect(() => read(body)).toThrow(expect.objectContaining({ seen: expect.stringMatching(/./) }));
    },
  );

  it.each([
    [{ mine: ITEMS, theirs: ITEMS }, 'mine'],
    [{ spaces: ITEMS, archived: ITEMS }, 'spaces'],
    [{ data: { workspaces: null, archived: ITEMS } }, 'data.workspaces'],
  ])('is refused beside a second one with the names of both and the command: %j', (body, value) => {
    const fix = expect.objectContaining({ leaf: 'spaces.list.items', value });
    const refusal = expect.objectContaining({ fix, message: expect.stringContaining('several places: ') });
    expect(() => read(body)).toThrow(refusal);
    expect(read(body, value.split('.'))).toBeInstanceOf(Array);
  });

  it.each([
    ['of another resource', { space_id: 's', agents: [{ agent_id: 'a' }] }, '<path>'],
    ['of another resource, beside a total of its own', { spaces_total: 2, agents: ITEMS }, '<path>'],
    ['of people', { data: { members: ITEMS } }, '<path>'],
    ['under an unknown name', { current: ITEMS }, 'current'],
    ['under an unknown name, beside one of people', { users: ITEMS, current: ITEMS }, 'current'],
  ])('is not one %s', (_, body, value) => {
    const message = expect.stringContaining('no list of spaces');
    expect(() => read(body)).toThrow(expect.objectContaining({ message, fix: { leaf: 'spaces.list.items', value } }));
  });

  it('is read beside a list of another resource', () => {
    expect(read({ spaces: ITEMS, users: [{ id: 'u' }], agents: [{ id: 'a' }] })).toEqual(ITEMS);
  });

  it('is read where the contract says, and nowhere else', () => {
    expect(read(ITEMS, [])).toEqual(ITEMS);
    expect(read({ data: { rows: ITEMS }, items: [] }, ['data', 'rows'])).toEqual(ITEMS);
    expect(() => read({ items: ITEMS }, ['data', 'rows'])).toThrow(UnknownShape);
    expect(() => read(null, ['data'])).toThrow(UnknownShape);
  });

  it('may be omitted where it is empty, once it is named', () => {
    expect(() => read({})).toThrow(expect.objectContaining({ fix: { leaf: 'spaces.list.items', value: 'spaces' } }));
    expect(read({}, ['spaces'])).toEqual([]);
  });
});
