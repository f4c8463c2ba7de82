import { expect, it } from 'vitest';
import { withRelativeTimes } from '../../../src/output/relative-time.ts';

it.each([
  ['2026-03-10T12:00:00.400Z', 'now'],
  ['2026-03-10T11:58:30Z', '1 min ago'],
  ['2026-03-10T17:10:00+02:00', 'in 3 h'],
  ['2026-03-12T11:10:00Z', 'in 47 h'],
  ['2026-05-10T12:00:00+02:00', '2026-05-10'],
  ['2026-03-10T15:00Z, 2026-03-13T12:00:00Z', 'in 3 h, in 3 d'],
  ['2026-99-10T12:00:00Z, yesterday', '2026-99-10T12:00:00Z, yesterday'],
])('%j is shown as %j', (text, shown) => {
  expect(withRelativeTimes(text, Date.parse('2026-03-10T12:00:00Z'))).toBe(shown);
});
