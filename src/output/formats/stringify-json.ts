// What JSON.stringify leaves raw and a terminal may act upon: DEL, C1, bidi controls, line and paragraph separator,
// byte order mark, non-characters. (It escapes C0 and lone surrogates itself.) All are in the basic plane.
const RAW_IN_JSON = /[\x7f-\x9f\p{Bidi_Control}\u2028\u2029\ufeff\ufffe\uffff]/gu;

/** A `\uXXXX` escape, for a character of the basic plane. */
export function escapeUnicode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

// Between two of these an integer waits that JSON.stringify does not take.
const MARK = '\u0000';

/** JSON.stringify for values that hold whole numbers too large for a JavaScript number. */
function stringifyExactly(value: unknown, indent: number): string {
  const marked = JSON.stringify(
    value,
    (_, item: unknown) => (typeof item === 'bigint' ? `${MARK}${item}${MARK}` : item),
    indent,
  );
  return marked.replace(/"\\u0000(-?\d+)\\u0000"/g, '$1');
}

function stringify(value: unknown, indent: number): string {
  try {
    return JSON.stringify(value, null, indent) ?? 'null';
  } catch (error) {
    // Rare enough that everything else need not pay for a replacer.
    if (error instanceof TypeError && /BigInt/.test(error.message)) return stringifyExactly(value, indent);
    throw error;
  }
}

/**
 * JSON that parses back to exactly the value and holds nothing that a terminal acts upon. What JSON does not know
 * (undefined) becomes null.
 * @param indent spaces for each level; 0 for one line
 */
export function stringifyJson(value: unknown, indent = 0): string {
  return stringify(value, indent).replace(RAW_IN_JSON, escapeUnicode);
}
