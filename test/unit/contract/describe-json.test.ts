import { describe, expect, it } from 'vitest';
import { describeJson } from '../../../src/contract/json.ts';

describe('describeJson', () => {
  it.each([
    [undefined, 'nothing'],
    [null, 'null'],
    [[], 'an empty array'],
    [[1, 2], 'an array of 2'],
    [{}, 'an empty object'],
    [{ a: 1, b: 2 }, 'an object with a (number), b (number)'],
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
