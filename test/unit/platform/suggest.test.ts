import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { suggest } from '../../../src/platform/suggest.ts';

const KEYS = ['external_space_id', 'space', 'agents', 'name', 'template_id'];

describe('suggest', () => {
  test.each([
    ['templateId', 'template_id'],
    ['TEMPLATE-ID', 'template_id'],
    ['names', 'name'],
    ['template', 'template_id'],
    ['agent', 'agents'],
    ['external_id', undefined],
    ['colour', undefined],
    ['', undefined],
    ['n'.repeat(1_000_000), undefined],
  ])('suggests the key for %s: %s', (word, meant) => {
    expect(suggest(word, KEYS)).toBe(meant);
  });

  test('property: recognizes a word with a missing letter or two swapped ones', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KEYS), fc.nat(), fc.boolean(), (key, at, isSwap) => {
        const index = at % (key.length - 1);
        const [one = '', other = ''] = key.slice(index, index + 2);
        const typo = key.slice(0, index) + (isSwap ? other + one : other) + key.slice(index + 2);
        expect(suggest(typo, KEYS)).toBe(key);
      }),
    );
  });
});
