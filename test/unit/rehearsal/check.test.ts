import { expect, test } from 'vitest';
import { killPoint } from '../../../src/rehearsal/rehearse.ts';

const points = (seeds: number, requests: number) =>
  Array.from({ length: seeds }, (_, index) => killPoint(index + 1, seeds, requests));

test.each([1, 2, 3, 9, 23, 100])(
  'With twice as many seeds as %i requests, or more, one is killed before and after each',
  (requests) => {
    const ats = Array.from({ length: requests }, (_, index) => index + 1);
    const all = (['before', 'after'] as const).flatMap((when) => ats.map((at) => ({ at, when })));
    expect(points(2 * requests, requests)).toEqual(all);
    const more = points(2 * requests + 5, requests).map(({ at, when }) => `${when} ${at}`);
    expect(new Set(more).size).toBe(2 * requests);
  },
);

test('Few seeds are spread over a long run', () => {
  expect(points(4, 1000).map(({ at, when }) => `${when} ${at}`)).toEqual([
    ...['before 1', 'before 501'],
    ...['after 1', 'after 501'],
  ]);
});
