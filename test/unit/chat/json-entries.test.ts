import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readJsonEntries } from '../../../src/chat/json-entries.ts';

test('finds each key of an object and its value, whatever their content and layout', () => {
  const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { maxKeys: 6 });
  fc.assert(
    fc.property(objects, fc.constantFrom(undefined, 1, '\t'), (object, indent) => {
      const text = ` ${JSON.stringify(object, null, indent)} `;
      const found = readJsonEntries(text).map(({ key, keyRange, valueRange }) => {
        expect(JSON.parse(text.slice(...keyRange))).toBe(key);
        return [key, JSON.parse(text.slice(...valueRange))];
      });
      const isOwn = Object.entries(JSON.parse(text));
      expect(found).toEqual(isOwn);
    }),
  );
});

test('finds repeated keys', () => {
  const text = '{"text": "a", "id" : {"text": [1, "}"]} ,"text":null}';
  const found = readJsonEntries(text).map(({ key, valueRange }) => [key, text.slice(...valueRange)]);
  expect(found).toEqual([
    ['text', '"a"'],
    ['id', '{"text": [1, "}"]}'],
    ['text', 'null'],
  ]);
});
