import type { Cell } from './command-result.ts';

/**
 * Text from a service or a file can contain characters that move the cursor, or that color, reorder, or hide other
 * text. This module converts them to visible escapes and keeps harmless characters.
 */

// Cc: C0, DEL, and C1. Cf and default-ignorable: invisible format characters, including bidi controls.
// Zl and Zp: line and paragraph separators. Cs: lone surrogates.
const ANY_HARMFUL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;

// Scripts that need joiners for correct spelling: Persian, Hindi, Sinhala, …
const SCRIPTS = ['Arab', 'Syrc', 'Deva', 'Beng', 'Guru', 'Gujr', 'Orya', 'Taml', 'Telu', 'Knda', 'Mlym', 'Sinh'];
const JOINING = `[${SCRIPTS.map((name) => `\\p{Script=${name}}`).join('')}]`;

/**
 * Matches harmful characters, and first the sequences in which one belongs to a visible one: emoji, joined letters, and
 * variants of Han. Not a literal: V8 would read the list of emoji (20 ms) whenever it parses this module, and few texts
 * need it.
 */
function legitimateOrHarmful(): RegExp {
  const legitimate = `\\p{RGI_Emoji}|${JOINING}[\\u200c\\u200d](?=${JOINING})|\\p{Script=Han}[\\u{e0100}-\\u{e01ef}]`;
  return new RegExp(`(${legitimate})|${ANY_HARMFUL.source}`, 'gv');
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '\b': '\\b' };

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return SHORT_ESCAPES[character] ?? `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

function sanitize(text: string, keep: string): string {
  if (!ANY_HARMFUL.test(text)) return text;
  return text.replace(legitimateOrHarmful(), (match: string, legitimate: string | undefined) =>
    legitimate !== undefined || keep.includes(match) ? match : escapeCharacter(match),
  );
}

/**
 * Makes text safe to show on one line of a terminal: converts control characters (including line feeds and tabs), bidi
 * controls, invisible format characters, and lone surrogates to escapes such as `\x1b`, `\n`, `\u202e`. Keeps emoji and
 * the joiners that some scripts need.
 */
export function sanitizeLine(text: string): string {
  return sanitize(text, '');
}

/** Like `sanitizeLine`, but keeps line feeds and tabs, and converts CRLF to a line feed. */
export function sanitizeText(text: string): string {
  return sanitize(text.replaceAll('\r\n', '\n'), '\n\t');
}

/** Formats a cell as one line of redacted, sanitized text; '' for null and undefined. */
export function cellText(cell: Cell, redact: (text: string) => string = (text) => text): string {
  return cell === null || cell === undefined ? '' : sanitizeLine(redact(String(cell)));
}
