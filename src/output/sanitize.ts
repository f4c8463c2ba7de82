import type { Cell } from './command-result.ts';

/**
 * Text from a service or a file can contain characters that move the cursor, or that color, reorder, or hide other
 * text. This module converts them to visible escapes. It keeps the joiners that emoji and some scripts need.
 */

// Cc: C0, DEL, and C1. Cf: invisible format characters, including bidi controls. Zl and Zp: line and paragraph
// separators. Cs: lone surrogates.
const HARMFUL = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '\b': '\\b' };

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return SHORT_ESCAPES[character] ?? `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

function sanitize(text: string, keep: string): string {
  return text.replace(HARMFUL, (match) => (keep.includes(match) ? match : escapeCharacter(match)));
}

/**
 * Makes text safe to show on one line of a terminal: converts control characters (including line feeds and tabs), bidi
 * controls, invisible format characters, and lone surrogates to escapes such as `\x1b`, `\n`, `\u202e`.
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
