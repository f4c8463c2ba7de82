import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sanitizeLine, sanitizeText } from '../../../src/output/sanitize.ts';
import { cpuMsOf } from '../../support/cpu.ts';
import { propertyRuns } from '../../support/properties.ts';
import { anyText } from './any-text.ts';

// Independent of the code under test: what no terminal line may contain in any context.
const NEVER = /[\0-\x1f\x7f-\x9f\p{Bidi_Control}\u2028\u2029\u200b\u2060\ufeff\u00ad\u{e0001}\p{Cs}]/u;

describe('sanitizeLine', () => {
  it.each([
    ['\x1b[2J', '\\x1b[2J'],
    ['a\nb\tc', 'a\\nb\\tc'],
    ['100%\r99%', '100%\\r99%'],
    ['ab\b\bcd', 'ab\\b\\bcd'],
    ['\x00\x07\x7f\x9b', '\\x00\\x07\\x7f\\x9b'],
    ['user\u202etxt.exe', 'user\\u202etxt.exe'],
    ['a\u2028b\u2029c', 'a\\u2028b\\u2029c'],
    ['pay\u200bpal', 'pay\\u200bpal'],
    ['a\u200db', 'a\\u200db'],
    ['hid\u{e0061}den', 'hid\\u{e0061}den'],
    ['a\ufe0f', 'a\\ufe0f'],
    ['half \ud83d pair', 'half \\ud83d pair'],
    ['pair \ude00\ud83d', 'pair \\ude00\\ud83d'],
  ])('escapes %j as %s', (text, shown) => {
    expect(sanitizeLine(text)).toBe(shown);
  });

  it.each([
    'plain \\x1b text',
    'Zürich, 東京, Ελλάδα',
    '👩‍🚀 👨‍👩‍👧‍👦 🏳️‍🌈 👩🏽‍🚀 👁️‍🗨️ ❤️ ☎︎ 1️⃣',
    '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}',
    'می‌خواهم',
    'क्‍ष ശ്രീ',
    '葛\u{e0100}城',
    'e\u0301',
    '\ue000',
  ])('keeps %s', (text) => {
    expect(sanitizeLine(text)).toBe(text);
  });

  it('escapes a second variation selector, and a joiner that joins nothing', () => {
    expect(sanitizeLine('❤️\ufe0f')).toBe('❤️\\ufe0f');
    expect(sanitizeLine('👩\u200d')).toBe('👩\\u200d');
    expect(sanitizeLine('👩\u200d\u200d🚀')).toBe('👩\\u200d\\u200d🚀');
  });

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

  it.each([
    ['escapes', '\x1b'],
    ['joined emoji', '👩\u200d'],
    ['letters', 'x'],
    ['joiners', '\u200d'],
    ['variation selectors', '❤️'],
  ])('takes linear time for 200,000 characters of %s', async (_name, piece) => {
    expect(await cpuMsOf(() => sanitizeLine(piece.repeat(1_000_000 / piece.length)))).toBeLessThan(4000);
  });
});

describe('sanitizeText', () => {
  it('keeps line feeds and tabs, and converts CRLF to a line feed', () => {
    expect(sanitizeText('a\n\tb\r\nc\rd\x1b')).toBe('a\n\tb\nc\\rd\\x1b');
  });

  it('property: equals sanitizeLine on every line', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const lines = text.replaceAll('\r\n', '\n').split('\n');
        const cleaned = lines.map((line) => line.split('\t').map(sanitizeLine).join('\t')).join('\n');
        expect(sanitizeText(text)).toBe(cleaned);
      }),
    );
  });
});
