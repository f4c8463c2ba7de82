import { expect, it } from 'vitest';
import { withRelativeTimes } from '../../../src/output/relative-time.ts';

const NOW = Date.parse('2026-03-10T12:00:00Z');

it.each([
  ['2026-03-10T12:00:00.400Z', 'now'],
  ['2026-03-10T12:00:05Z', 'in 5 s'],
  ['2026-03-10T11:58:30Z', '1 min ago'],
  ['2026-03-10T17:10:00+02:00', 'in 3 h'],
  ['2026-03-10T14:53:00Z', 'in 3 h'],
  ['2026-03-10T09:07:00Z', '2 h ago'],
  ['2026-03-12T11:10:00Z', 'in 47 h'],
  ['2026-03-08T12:00:00Z', '2 d ago'],
  ['2026-05-10T12:00:00+02:00', '2026-05-10'],
  ['2026-03-10T15:00Z, 2026-03-13T12:00:00Z', 'in 3 h, in 3 d'],
  ['2026-99-10T12:00:00Z', '2026-99-10T12:00:00Z'],
  ['yesterday', 'yesterday'],
  ['', ''],
])('%j is shown as %j', (text, shown) => {
  expect(withRelativeTimes(text, NOW)).toBe(shown);
});
