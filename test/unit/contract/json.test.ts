import { expect, it } from 'vitest';
import { describeJson, parseJson } from '../../../src/contract/json.ts';
import { stringifyJson } from '../../../src/output/json.ts';

it('JSON with numbers that JavaScript would round keeps every digit, and changes none in texts and names, however they are escaped', () => {
  const text = String.raw`{"a":"\"9007199254740993","9007199254740993":[-9007199254740993,1.5,1e3],"b":"exact: 12345678901234567"}`;
  expect(stringifyJson(parseJson(text))).toBe(text.replace('1e3', '1000'));
});

it('an id with an exponent stays the text that was written, and any other number a number', () => {
  const text = '{"id":1.2345678901234567e+19,"price":1.5e+21,"agent_id":12345678901234567890,"space_id":1e3}';
  expect(parseJson(text)).toEqual({
    id: '1.2345678901234567e+19',
    price: 1.5e21,
    agent_id: 12_345_678_901_234_567_890n,
    space_id: 1000,
  });
});

it('a value is described by its keys and types, in limited length', () => {
  expect([undefined, null, [], [1, 2], {}, { a: 1, b: { c: null } }, 'x'].map(describeJson)).toEqual([
    'nothing',
    'null',
    'an empty array',
    'an array of 2',
    'an empty object',
    'an object with a (number), b.c (null)',
    'the string "x"',
  ]);
  const keys = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`${index}${'k'.repeat(500)}`, 1]));
  expect(describeJson(keys).length).toBeLessThan(1500);
  expect(describeJson('x'.repeat(10_000)).length).toBeLessThan(100);
});
