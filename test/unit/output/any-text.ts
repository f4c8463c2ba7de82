import fc from 'fast-check';
import { anyCharacter } from '../../support/properties.ts';

const CONTROLS = [
  '\x1b[31m',
  '\x1b]0;title\x07',
  '\x9b2J',
  '\r',
  '\b',
  '\n',
  '\t',
  '\x7f',
  '\u202e',
  '\u2028',
  '\ufeff',
];
const PARTS = ['\u200b', '\u200d', '\ufe0f', '\u{e0041}', '\ud83d', '\ude00', '\u0301', '🏽', '🇨'];
const WIDE = ['東京', '한국', 'e\u0301', '👩‍🚀', '🏳️‍🌈', '🏴\u{e0067}\u{e0062}\u{e007f}', '🫠', '🇨🇭', '1️⃣', '❤️', 'ｶﾞ'];
const SYNTAX = ['…', '"', "'", '\\', '- ', ': ', '#', 'no', '12:30', '~', '::', '##['];

const pieces = fc.constantFrom(...CONTROLS, ...PARTS, ...WIDE, ...SYNTAX);
const codeUnits = fc.array(fc.nat({ max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units));

/** Any text: control sequences, lone surrogates, and wide, combining, and joined characters among plain words. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  codeUnits,
  fc.string({ unit: fc.oneof(pieces, fc.string({ unit: 'grapheme-ascii', maxLength: 8 })), maxLength: 12 }),
);

/** Any JSON value, with any text as keys and strings. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    anyText,
    fc.double({ noDefaultInfinity: true, noNaN: true }).filter((number) => !Object.is(number, -0)),
    fc.constantFrom(true, false, null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(anyText, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;
