import { describe, expect, test } from 'vitest';
import { busiestSecond, findMissing } from '../../../src/rehearsal/check.ts';
import { killPoint } from '../../../src/rehearsal/rehearse.ts';

describe('killPoint', () => {
  test.each([1, 2, 3, 9, 23, 100])('kills each of %i requests once with as many seeds', (requests) => {
    const all = Array.from({ length: requests }, (_, index) => index + 1);
    expect(all.map((seed) => killPoint(seed, requests)).toSorted((a, b) => a - b)).toEqual(all);
  });

  test('spreads few seeds over a long run', () => {
    const points = Array.from({ length: 10 }, (_, index) => killPoint(index + 1, 1000)).toSorted((a, b) => a - b);
    const gaps = [...points, 1000].map((point, index) => point - (points[index - 1] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(200);
  });
});

test('What is missing is named with its space, and a missing space once', () => {
  const job = { op: 'create_job', name: 'daily', agent: 'Support' };
  const agent = { op: 'install_agent', name: 'Sales' };
  const spaces = [
    { external_space_id: 'acme', actions: [agent, job] },
    { external_space_id: 'bolt', actions: [{ op: 'create_space', name: 'Bolt' }, agent, job] },
  ];
  expect(findMissing(JSON.stringify({ spaces })).map(({ message }) => message)).toEqual([
    'agent "Sales" is missing in acme',
    'job "daily" of agent "Support" is missing in acme',
    'space bolt is missing',
  ]);
});

test('The busiest second may begin at any request', () => {
  const at = (ms: number) => new Date(ms).toISOString();
  expect(busiestSecond([])).toBe(0);
  expect(busiestSecond([0, 900, 1000, 1500, 1899, 3000].map(at))).toBe(4);
});
