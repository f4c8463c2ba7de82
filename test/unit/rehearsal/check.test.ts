import { describe, expect, test } from 'vitest';
import { killPoint } from '../../../src/rehearsal/rehearse.ts';

describe('killPoint', () => {
  const points = (seeds: number, requests: number) =>
    Array.from({ length: seeds }, (_, index) => killPoint(index + 1, seeds, requests));

  test.each([1, 2, 3, 9, 23, 100])(
    'is before and after each of %i requests with twice as many seeds, or more',
    (requests) => {
      const ats = Array.from({ length: requests }, (_, index) => index + 1);
      const all = (['before', 'after'] as const).flatMap((when) => ats.map((at) => ({ at, when })));
      expect(points(2 * requests, requests)).toEqual(all);
      expect(new Set(points(2 * requests + 5, requests).map(({ at, when }) => `${when} ${at}`)).size).toBe(
        2 * requests,
      );
    },
  );

  test('spreads few seeds over a long run', () => {
    expect(points(4, 1000)).toEqual([
      { at: 1, when: 'before' },
      { at: 501, when: 'before' },
      { at: 1, when: 'after' },
      { at: 501, when: 'after' },
    ]);
  });
});
