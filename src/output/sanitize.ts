/**
 * Text from a service or a file can contain characters that move the cursor, or color, reorder, or hide other text. They
 * become visible escapes here; characters that only show themselves stay.
 */

// Cc: C0, DEL and C1. Cf and default-ignorable: invisible format characters, bidi controls among them.
// Zl and Zp: line and paragraph separator. Cs: half of a surrogate pair without the other half.
const HARMFUL = '[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}\\p{Default_Ignorable_Code_Point}]';

// Format characters that are visible: a sign in front of digits or letters.
const VISIBLE_FORMAT = '[\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}]';

const PICTOGRAPH = '\\p{Extended_Pictographic}(?:\\p{Emoji_Modifier}|\\ufe0f)?';

// Invisible characters that are part of a visible one: emoji joined by ZWJ, flags of regions spelled in tags, and one
// variation selector after a character that has variants.
const JOINED_EMOJI = `${PICTOGRAPH}(?:\\u200d${PICTOGRAPH})+`;
const TAG_FLAG = '\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{1,6}\\u{e007f}';
const EMOJI_VARIANT = '[\\p{Emoji}][\\ufe0e\\ufe0f]';
const HAN_VARIANT = '\\p{Script=Han}[\\ufe00-\\ufe02\\u{e0100}-\\u{e01ef}]';

// Scripts that need joiners between letters for correct spelling: Persian, Kurdish, Hindi, Bengali, Sinhala, and others.
const JOINING_SCRIPTS = [
  'Arab',
  'Syrc',
  'Deva',
  'Beng',
  'Guru',
  'Gujr',
  'Orya',
  'Taml',
  'Telu',
  'Knda',
  'Mlym',
  'Sinh',
];
const JOINING_LETTER = `[${JOINING_SCRIPTS.map((script) => `\\p{Script=${script}}`).join('')}]`;
const JOINED_LETTERS = `(?<=${JOINING_LETTER})[\\u200c\\u200d](?=${JOINING_LETTER})`;

const LEGITIMATE = [JOINED_EMOJI, TAG_FLAG, EMOJI_VARIANT, HAN_VARIANT, JOINED_LETTERS, VISIBLE_FORMAT].join('|');

const ANY_HARMFUL = new RegExp(HARMFUL, 'u');
const LEGITIMATE_OR_HARMFUL = new RegExp(`(${LEGITIMATE})|${HARMFUL}`, 'gu');

const SHORT_ESCAPES = new Map([
  ['\n', '\\n'],
  ['\t', '\\t'],
  ['\r', '\\r'],
  ['\b', '\\b'],
]);

function escapeCharacter(character: string): string {
  const short = SHORT_ESCAPES.get(character);
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

function sanitize(text: string, keep: string): string {
  if (!ANY_HARMFUL.test(text)) return text;
  return text.replace(LEGITIMATE_OR_HARMFUL, (match: string, legitimate: string | undefined) =>
    legitimate !== undefined || keep.includes(match) ? match : escapeCharacter(match),
  );
}

/**
 * Makes text safe to show on one line of a terminal: controls (line feeds and tabs, too), bidi controls, invisible format
 * characters, and lone surrogates become escapes such as `\x1b`, `\n`, `\u202e`. Emoji and the joiners that some scripts
 * need stay.
 */
export function sanitizeLine(text: string): string {
  return sanitize(text, '');
}

/** Like `sanitizeLine`, but keeps line feeds and tabs. CRLF becomes a line feed. */
export function sanitizeText(text: string): string {
  return sanitize(text.replaceAll('\r\n', '\n'), '\n\t');
}
