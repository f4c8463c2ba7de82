import fc from 'fast-check';
import { expect, test } from 'vitest';
import { suggest } from '../../../src/platform/suggest.ts';

const KEYS = ['external_space_id', 'space', 'agents', 'name', 'template_id'];

test.each([
  ['templateId', 'template_id'],
  ['template', 'template_id'],
  ['external_id', undefined],
  ['n'.repeat(1_000_000), undefined],
])('the key that is most likely meant by %s is %s', (word, meant) => {
  expect(suggest(word, KEYS)).toBe(meant);
});

test('property: a word with a missing letter or two swapped ones is recognized', () => {
  fc.assert(
    fc.property(fc.constantFrom(...KEYS), fc.nat(), fc.boolean(), (key, at, isSwap) => {
      const index = at % (key.length - 1);
      const [one = '', other = ''] = key.slice(index, index + 2);
      const typo = key.slice(0, index) + (isSwap ? other + one : other) + key.slice(index + 2);
      expect(suggest(typo, KEYS)).toBe(key);
    }),
  );
});
