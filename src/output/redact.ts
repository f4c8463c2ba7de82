import { type Sink, withWrite } from '../platform/io.ts';
import { SecretPattern, type Span } from './secret-pattern.ts';

const MARK = '[redacted]';

/** Shorter texts would match ordinary words, and no secret is that short. */
const MIN_SECRET_LENGTH = 6;

export interface Redactor {
  /** Replaces every added secret, in all its encodings, with `[redacted]`. */
  redact(text: string): string;
  /** Adds a secret. Ignores secrets shorter than 6 characters. */
  add(secret: string): void;
  remove(secret: string): void;
}

/**
 * Returns the part of a secret's base64 that does not depend on the surrounding text, for each of the three possible byte
 * offsets. Matches the encodings of `token`, `Bearer token`, and `user:token`.
 */
function base64Cores(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
}

/** The characters of base64url in place of those of base64. */
const BASE64URL: Readonly<Record<string, string>> = { '+': '-', '/': '_' };

function patternsOf(secret: string): SecretPattern[] {
  const hex = Array.from(Buffer.from(secret).toString('hex'));
  const base64 = base64Cores(secret).map((core) => Array.from(core));
  return [
    new SecretPattern(
      Array.from(secret, (character) => [character]),
      false,
    ),
    new SecretPattern(
      hex.map((digit) => [...new Set([digit, digit.toUpperCase()])]),
      true,
    ),
    ...base64.map(
      (core) =>
        new SecretPattern(
          core.map((each) => [each, ...(BASE64URL[each] ?? [])]),
          true,
        ),
    ),
  ];
}

/** Replaces each span with the mark. Spans that overlap or touch become a single mark. */
function replaceSpans(text: string, spans: readonly Span[]): string {
  let result = '';
  let done = 0;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    if (start > done || done === 0) result += text.slice(done, start) + MARK;
    done = Math.max(done, end);
  }
  return result + text.slice(done);
}

/**
 * Creates a redactor. It finds secrets that are raw, escaped (see `SecretPattern`), or encoded in hexadecimal,
 * base64, or base64url, alone or as part of a longer encoded text. Takes linear time.
 */
export function createRedactor(secrets: Iterable<string> = []): Redactor {
  const patterns = new Map<string, readonly SecretPattern[]>();
  const add = (secret: string): void => {
    if (secret.length >= MIN_SECRET_LENGTH && !patterns.has(secret)) patterns.set(secret, patternsOf(secret));
  };
  for (const secret of secrets) add(secret);
  return {
    add,
    remove: (secret) => void patterns.delete(secret),
    redact(text) {
      const spans = [...patterns.values()].flat().flatMap((pattern) => pattern.findAll(text));
      return spans.length === 0 ? text : replaceSpans(text, spans);
    },
  };
}

/** Creates a sink that redacts each write. Write complete lines, because it misses a secret split across two writes. */
export function redactingSink(sink: Sink, redactor: Redactor): Sink {
  return withWrite((text, encoding) => sink.write(redactor.redact(text), encoding), sink);
}

const SECRET_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie']);

/** Replaces the values of headers that carry credentials with `[redacted]`. */
export function redactHeaders<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value | string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.has(name.toLowerCase()) ? MARK : value]),
  );
}
