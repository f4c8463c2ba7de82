import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nearest } from '../../../src/yaml/suggest.ts';

const KEYS = ['external_space_id', 'space', 'agents', 'name', 'template_id'];

describe('nearest', () => {
  test.each([
    ['templateId', 'template_id'],
    ['TEMPLATE-ID', 'template_id'],
    ['tempalte_id', 'template_id'],
    ['nmae', 'name'],
    ['names', 'name'],
    ['agent', 'agents'],
    ['spcae', 'space'],
    ['external_id', undefined],
    ['colour', undefined],
    ['', undefined],
    ['n'.repeat(1_000_000), undefined],
  ])('%s is %s', (word, meant) => {
    expect(nearest(word, KEYS)).toBe(meant);
  });

  test('one letter left out, or two swapped, is always understood', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KEYS), fc.nat(), fc.boolean(), (key, at, isSwap) => {
        const index = at % (key.length - 1);
        const [one = '', other = ''] = key.slice(index, index + 2);
        const typo = key.slice(0, index) + (isSwap ? other + one : other) + key.slice(index + 2);
        expect(nearest(typo, KEYS)).toBe(key);
      }),
    );
  });
});
