import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeSchedule, nextRuns, parseExpression } from '../../../src/cron/schedule.ts';
import { propertyRuns } from '../../support/properties.ts';
import { writtenSchedule } from './arbitraries.ts';

const runs = (expression: string, timezone: string, after: string, count: number): Promise<string[]> =>
  nextRuns({ ...parseExpression(expression), timezone }, Date.parse(after), count);

test('the next runs have local times with their offsets, keep them when clocks change, and exclude the start', async () => {
  expect(await runs('0 9 * * *', 'Europe/Berlin', '2026-03-28T08:00:00Z', 2)).toEqual([
    '2026-03-29T09:00:00+02:00',
    '2026-03-30T09:00:00+02:00',
  ]);
  expect(await runs('0 9 * * *', 'UTC', '2026-01-01T09:00:00Z', 1)).toEqual(['2026-01-02T09:00:00+00:00']);
  expect(await runs('30 * * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', 2)).toEqual([
    '2026-10-25T02:30:00+02:00',
    '2026-10-25T02:30:00+01:00',
  ]);
});

test('every schedule is described in English', async () => {
  const said = (expression: string) => describeSchedule({ ...parseExpression(expression), timezone: 'UTC' });
  expect(await said('0 9 * * mon-fri')).toBe('At 09:00, Monday through Friday (UTC)');
  expect(await said('*/5 * * * *')).toBe('Every 5 minutes (UTC)');
  await fc.assert(
    fc.asyncProperty(writtenSchedule, async (schedule) => {
      const description = await describeSchedule(schedule);
      expect(description).toMatch(/^\S.{5,} \(\S+\)$/);
      expect(description).not.toMatch(/undefined|null|NaN|\*/);
    }),
    { numRuns: propertyRuns(40) },
  );
});
