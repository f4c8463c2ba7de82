import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Contract } from '../../../src/contract/contract.ts';
import { findId } from '../../../src/contract/fields.ts';
import { isJsonObject, parseJson } from '../../../src/contract/json.ts';
import { stringifyJson } from '../../../src/output/formats/stringify-json.ts';

describe('JSON with numbers that JavaScript would round', () => {
  it('keeps every digit of an id', () => {
    const space = parseJson('{"space_id": 9007199254740993, "name": "exact: 12345678901234567"}');
    expect(isJsonObject(space) && findId(space, new Contract(), 'space.id')).toBe('9007199254740993');
    expect(stringifyJson(space)).toBe('{"space_id":9007199254740993,"name":"exact: 12345678901234567"}');
  });

  it('does not change digits in strings', () => {
    const text = String.raw`{"a":"\"9007199254740993","9007199254740993":[-9007199254740993,1.5,1e3]}`;
    expect(stringifyJson(parseJson(text))).toBe(text.replace('1e3', '1000'));
  });

  it('parses everything else like JSON.parse', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const plain: unknown = JSON.parse(text);
        fc.pre(JSON.stringify(plain) === JSON.stringify(JSON.parse(JSON.stringify(plain))));
        expect(JSON.parse(stringifyJson(parseJson(text)))).toEqual(plain);
      }),
    );
  });

  it('writes every integer back as it was received', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.string(), (number, key) => {
        fc.pre(key !== '__proto__');
        const text = `{${stringifyJson(key)}:${number}}`;
        expect(stringifyJson(parseJson(text))).toBe(text);
      }),
    );
  });
});
