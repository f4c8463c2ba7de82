import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../../src/cli/options.ts';

describe('parseDuration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['1.5s', 1500],
    ['0s', 0],
  ])('parses %s as %i ms', (text, expected) => {
    expect(parseDuration(text)).toBe(expected);
  });

  it.each(['', '5', 's', '-1s', '1 s', '1d', '1e3s', '1s ', '1S', '١s', `${'9'.repeat(200)}s`])(
    'rejects %j',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  it('property: returns finite milliseconds or undefined for any text', () => {
    const text = fc.oneof(
      fc.string(),
      fc.tuple(fc.stringMatching(/^\d{1,300}$/), fc.constantFrom('ms', 's', 'm', 'h')).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (given) => {
        const ms = parseDuration(given);
        if (ms !== undefined) expect(Number.isFinite(ms) && ms >= 0).toBe(true);
      }),
    );
  });
});
