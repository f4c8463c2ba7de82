import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnknownShape } from '../../../src/contract/assumptions.ts';
import { describeJson } from '../../../src/contract/json.ts';
import { findField, findId, findText, readId } from '../../../src/contract/plain-fields.ts';

describe('an id', () => {
  it.each([
    ['its own name', { space_id: 's1', id: 'x' }, 's1'],
    ['a plain id', { id: 's1' }, 's1'],
    ['a number', { space_id: 42 }, '42'],
    ['zero', { id: 0 }, '0'],
    ['a number beyond what JavaScript counts exactly', { id: 1234567890123456789n }, '1234567890123456789'],
    ['one level down', { space: { space_id: 's1' } }, 's1'],
    ['a plain id one level down', { space: { id: 7 } }, '7'],
    ['the nested one, where the envelope has a plain id too', { id: 'envelope', space: { id: 's1' } }, 's1'],
    ['the own name wins over a nested plain id', { space_id: 's1', space: { id: 'x' } }, 's1'],
    ['an empty own name does not hide the plain id', { space_id: '', id: 's1' }, 's1'],
  ])('is found: %s', (_, object, expected) => {
    expect(findId(object, 'space')).toBe(expected);
    expect(readId(object, 'space')).toBe(expected);
  });

  it.each([
    ['nothing', {}],
    ['null', { space_id: null, id: null }],
    ['empty', { space_id: '' }],
    ['an object', { space_id: { value: 's1' } }],
    ['true', { id: true }],
    ['that of another resource', { agent_id: 'a1' }],
    ['two levels down', { data: { space: { space_id: 's1' } } }],
    ['a fraction', { id: 1.5 }],
  ])('is missing: %s', (_, object) => {
    expect(findId(object, 'space')).toBeUndefined();
    expect(() => readId(object, 'space')).toThrow(UnknownShape);
  });

  it('property: a string or whole number is returned as text from any known place', () => {
    const id = fc.oneof(fc.string({ minLength: 1 }), fc.maxSafeInteger(), fc.bigInt());
    const place = fc.constantFrom(
      (value: unknown) => ({ agent_id: value }),
      (value: unknown) => ({ id: value, name: 'x' }),
      (value: unknown) => ({ agent: { agent_id: value } }),
      (value: unknown) => ({ agent: { id: value } }),
    );
    fc.assert(
      fc.property(id, place, (value, put) => {
        expect(findId(put(value), 'agent')).toBe(String(value));
      }),
    );
  });
});

describe('a field', () => {
  it('is found at the top or under the name of its resource', () => {
    expect(findText({ name: 'top', agent: { name: 'below' } }, 'agent', 'name')).toBe('top');
    expect(findText({ agent: { name: 'below' } }, 'agent', 'name')).toBe('below');
    expect(findText({ name: 5 }, 'agent', 'name')).toBe('5');
    expect(findText({ name: { first: 'x' } }, 'agent', 'name')).toBeUndefined();
    expect(findField({ is_org_wide: false }, 'space', 'is_org_wide')).toBe(false);
  });

  it('is found below a null at the top', () => {
    expect(findText({ name: null, agent: { name: 'below' } }, 'agent', 'name')).toBe('below');
    expect(findField({ name: null }, 'agent', 'name')).toBeNull();
  });
});

describe('describeJson', () => {
  it.each([
    [undefined, 'nothing'],
    [null, 'null'],
    [[], 'an empty array'],
    [[1, 2], 'an array of 2'],
    [{}, 'an empty object'],
    [{ a: 1, b: 2 }, 'an object with the keys a, b'],
    ['x', 'the string "x"'],
  ])('describes %j as %s', (value, expected) => {
    expect(describeJson(value)).toBe(expected);
  });

  it('limits the length of the description', () => {
    const keys = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`${index}${'k'.repeat(500)}`, 1]));
    expect(describeJson(keys).length).toBeLessThan(1500);
    expect(describeJson('x'.repeat(10_000)).length).toBeLessThan(100);
  });
});
