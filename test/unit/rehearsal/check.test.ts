import { describe, expect, test } from 'vitest';
import { killPoint } from '../../../src/rehearsal/rehearse.ts';

describe('killPoint', () => {
  const points = (seeds: number, requests: number) =>
    Array.from({ length: seeds }, (_, index) => killPoint(index + 1, seeds, requests));

  test.each([1, 2, 3, 9, 23, 100])('meets each of %i requests if there are as many seeds, or more', (requests) => {
    const all = Array.from({ length: requests }, (_, index) => index + 1);
    expect(points(requests, requests)).toEqual(all);
    expect([...new Set(points(requests + 5, requests))]).toEqual(all);
  });

  test('spreads few seeds over a long run', () => {
    expect(points(4, 1000)).toEqual([1, 251, 501, 751]);
  });
});
