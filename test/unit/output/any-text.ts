import fc from 'fast-check';
import { anyCharacter } from '../../support/properties.ts';

const PIECES = [
  '\x1b[31m',
  '\x1b]0;title\x07',
  '\x9b2J',
  '\r',
  '\b',
  '\n',
  '\t',
  '\x7f',
  '\x85',
  '\u202e',
  '\u2066',
  '\u2028',
  '\u200b',
  '\u200d',
  '\ufeff',
  '\ufe0f',
  '\u{e0041}',
  '\ud83d',
  '\ude00',
  '東京',
  '한국',
  '\u1112\u1161\u11ab',
  'e\u0301',
  '\u0301',
  '\u0903',
  '\u0600',
  '👩‍🚀',
  '👨‍👩‍👧‍👦',
  '🏳️‍🌈',
  '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}',
  '🫠',
  '🇨🇭',
  '🇨',
  '👍🏽',
  '🏽',
  '1️⃣',
  '❤️',
  '☎',
  'ｶﾞ',
  'ﾞ',
  '\ue000\ue001',
  '…',
  '"',
  "'",
  '\\',
  '- ',
  ': ',
  '#',
  'no',
  '12:30',
  '~',
];

const codeUnits = fc.array(fc.nat({ max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units));

/** Any text: control sequences, lone surrogates, and wide, combining, and joined characters among plain words. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  codeUnits,
  fc
    .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'grapheme-ascii', maxLength: 8 })), { maxLength: 12 })
    .map((pieces) => pieces.join('')),
);

/** Any JSON value, with any text as keys and strings. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    anyText,
    fc.double({ noDefaultInfinity: true, noNaN: true }).filter((number) => !Object.is(number, -0)),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(anyText, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;
