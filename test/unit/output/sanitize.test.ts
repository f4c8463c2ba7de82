import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sanitizeLine, sanitizeText } from '../../../src/output/sanitize.ts';
import { propertyRuns } from '../../support/properties.ts';
import { anyText } from './any-text.ts';

// Independent of the code under test: what no terminal line may contain in any context.
const NEVER = /[\0-\x1f\x7f-\x9f\p{Bidi_Control}\u2028\u2029\u200b\u2060\ufeff\u00ad\u{e0001}\p{Cs}]/u;

describe('sanitizeLine', () => {
  it.each([
    ['\x1b[2J', '\\x1b[2J'],
    ['a\nb\tc\r\b', 'a\\nb\\tc\\r\\b'],
    ['\x00\x07\x7f\x9b', '\\x00\\x07\\x7f\\x9b'],
    ['user\u202etxt.exe', 'user\\u202etxt.exe'],
    ['pay\u200bpal', 'pay\\u200bpal'],
    ['hid\u{e0061}den', 'hid\\u{e0061}den'],
    ['half \ud83d pair', 'half \\ud83d pair'],
  ])('escapes %j as %s', (text, shown) => {
    expect(sanitizeLine(text)).toBe(shown);
  });

  it.each(['plain \\x1b text', 'Zürich, 東京', '👩‍🚀 👨‍👩‍👧‍👦 ❤️ 1️⃣', 'می‌خواهم', 'क्‍ष', '葛\u{e0100}城'])(
    'keeps %s',
    (text) => {
      expect(sanitizeLine(text)).toBe(text);
    },
  );

  it('property: removes every harmful character, and is idempotent', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const once = sanitizeLine(text);
        expect(once).not.toMatch(NEVER);
        expect(sanitizeLine(once)).toBe(once);
      }),
      { numRuns: propertyRuns(2000) },
    );
  });
});

it('sanitizeText keeps line feeds and tabs, and converts CRLF to a line feed', () => {
  expect(sanitizeText('a\n\tb\r\nc\rd\x1b')).toBe('a\n\tb\nc\\rd\\x1b');
});
