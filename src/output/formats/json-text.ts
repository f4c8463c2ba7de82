// What JSON.stringify leaves raw and a terminal may act upon: DEL, C1, bidi controls, line and paragraph separator,
// byte order mark, non-characters. (It escapes C0 and lone surrogates itself.) All are in the basic plane.
const RAW_IN_JSON = /[\x7f-\x9f\p{Bidi_Control}\u2028\u2029\ufeff\ufffe\uffff]/gu;

/** A `\uXXXX` escape, for a character of the basic plane. */
export function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * JSON that parses back to exactly the value and holds nothing that a terminal acts upon. What JSON does not know
 * (undefined) becomes null.
 * @param indent spaces for each level; 0 for one line
 */
export function jsonText(value: unknown, indent = 0): string {
  return (JSON.stringify(value, null, indent) ?? 'null').replace(RAW_IN_JSON, unicodeEscape);
}
