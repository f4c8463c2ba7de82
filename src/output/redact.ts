const MARK = '[redacted]';

/** Shorter texts would match ordinary words, and no secret is that short. */
const MIN_SECRET_LENGTH = 6;

export type Redactor = ReturnType<typeof createRedactor>;

function escapeForRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/** Matches a character as it is, and as JSON, URLs, and shells escape it. Nobody escapes letters and digits. */
function characterSource(character: string): string {
  if (/^[\dA-Za-z]$/.test(character)) return character;
  const hex = (value: number, width: number) => value.toString(16).padStart(width, '0');
  const units = Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at), 4)}`);
  const encoded = [units.join(''), Array.from(Buffer.from(character), (byte) => `%${hex(byte, 2)}`).join('')];
  const upper = encoded.map((each) => each.replace(/[a-f]/g, (digit) => digit.toUpperCase()));
  const inJson = JSON.stringify(character).slice(1, -1);
  // The longest come first: one that ends in % would leave the 25 of %25.
  return `(?:${[...encoded, ...upper, `\\${character}`, inJson, character].map(escapeForRegExp).join('|')})`;
}

/**
 * Matches the part of a secret's base64 or base64url that does not depend on the surrounding text, for each of the
 * three possible byte offsets: `Bearer token` and `user:token` contain one of them.
 */
function base64Sources(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const core = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return core.replaceAll('+', '(?:[+-]|%2[bB])').replaceAll('/', '(?:\\\\?\\/|_|%2[fF])');
  });
}

/** Creates a redactor. It finds secrets that are raw, escaped for JSON or a URL, or in base64, within any text. */
export function createRedactor(secrets: readonly string[]) {
  const known = new Set<string>();
  let pattern: RegExp | undefined;
  const compile = (): RegExp => {
    const byLength = [...known].sort((a, b) => b.length - a.length);
    const raw = byLength.map((secret) => Array.from(secret, characterSource).join(''));
    return new RegExp([...raw, ...byLength.flatMap(base64Sources)].join('|'), 'g');
  };
  const add = (secret: string): void => {
    if (secret.length >= MIN_SECRET_LENGTH) known.add(secret);
    pattern = undefined;
  };
  secrets.forEach(add);
  return {
    add,
    /** Lets all later output show a secret: what a command issues is its answer, even if PARTNER_TOKEN holds it too. */
    remove(secret: string): void {
      known.delete(secret);
      pattern = undefined;
    },
    /** Replaces every added secret with `[redacted]`. */
    redact(text: string): string {
      if (known.size === 0) return text;
      pattern ??= compile();
      return text.replace(pattern, MARK);
    },
  };
}

const SECRET_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie']);

/** Replaces the values of headers that carry credentials with `[redacted]`. */
export function redactHeaders<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value | string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.has(name.toLowerCase()) ? MARK : value]),
  );
}
