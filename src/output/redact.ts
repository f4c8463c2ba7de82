import { type Sink, withWrite } from '../cli/io.ts';
import { stringifyJson } from './formats/stringify-json.ts';
import { sanitizeLine } from './sanitize.ts';

const MARK = '[redacted]';

/** Redacting shorter texts would match ordinary words, and no secret is that short. */
const MIN_SECRET_LENGTH = 6;

export interface Redactor {
  /** Replaces every added secret, in all its encodings, with `[redacted]`. */
  redact(text: string): string;
  /** Adds a secret. Ignores secrets shorter than 6 characters. */
  add(secret: string): void;
}

/**
 * Returns the part of the secret's base64 that does not depend on the surrounding text, for each of the three possible
 * byte offsets. Matches the encodings of `token`, `Bearer token`, and `user:token`.
 */
function base64Cores(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const core = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [core, core.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

function percentEncoded(secret: string): string[] {
  // Replaces lone surrogates, on which encodeURIComponent throws.
  const wellFormed = Buffer.from(secret).toString();
  const query = new URLSearchParams([['', secret]]).toString().slice(1);
  const component = encodeURIComponent(wellFormed);
  const lower = (text: string) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  return [query, lower(query), component, lower(component), encodeURI(wellFormed)];
}

function jsonEscaped(text: string): string {
  return stringifyJson(text).slice(1, -1);
}

/** Some services also escape HTML special characters, and slashes, in JSON. */
function jsonEscapedForHtml(json: string): string[] {
  const lower = json.replace(/[&<>'+]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
  const upper = json.replace(/[&<>'+]/g, (character) => `\\u00${character.charCodeAt(0).toString(16).toUpperCase()}`);
  return [lower, upper].flatMap((text) => [text, text.replaceAll('/', '\\/')]);
}

function encodingsOf(secret: string): Set<string> {
  const json = jsonEscaped(secret);
  const hex = Buffer.from(secret).toString('hex');
  return new Set([
    secret,
    sanitizeLine(secret),
    json,
    // Other programs escape fewer characters than `stringifyJson`.
    JSON.stringify(secret).slice(1, -1),
    jsonEscaped(json),
    json.replaceAll('/', '\\/'),
    ...jsonEscapedForHtml(json),
    ...percentEncoded(secret),
    ...base64Cores(secret),
    hex,
    hex.toUpperCase(),
  ]);
}

interface Span {
  readonly start: number;
  readonly end: number;
}

function occurrences(text: string, part: string): Span[] {
  const found: Span[] = [];
  for (let start = text.indexOf(part); start !== -1; start = text.indexOf(part, start + 1)) {
    found.push({ start, end: start + part.length });
  }
  return found;
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
 * Creates a redactor. It finds secrets that are raw, JSON-escaped, percent-encoded, or encoded in hexadecimal, base64,
 * or base64url, alone or as part of a longer encoded text.
 */
export function createRedactor(secrets: Iterable<string> = []): Redactor {
  const parts = new Set<string>();
  const add = (secret: string): void => {
    if (secret.length < MIN_SECRET_LENGTH) return;
    for (const encoding of encodingsOf(secret)) parts.add(encoding);
  };
  for (const secret of secrets) add(secret);
  return {
    add,
    redact(text) {
      const spans = [...parts].flatMap((part) => occurrences(text, part));
      return spans.length === 0 ? text : replaceSpans(text, spans);
    },
  };
}

/** Creates a sink that redacts each write. Write complete lines, because it misses a secret split across two writes. */
export function redactingSink(sink: Sink, redactor: Redactor): Sink {
  return withWrite((text) => sink.write(redactor.redact(text)), sink);
}

const SECRET_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie']);

/** Replaces the values of headers that carry credentials with `[redacted]`. */
export function redactHeaders<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value | string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.has(name.toLowerCase()) ? MARK : value]),
  );
}
