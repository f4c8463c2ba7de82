import { type Sink, withWrite } from '../cli/io.ts';
import { stringifyJson } from './formats/stringify-json.ts';
import { sanitizeLine } from './sanitize.ts';

const MARK = '[redacted]';

/** Anything shorter would blot out ordinary words and is no credible secret. */
const SHORTEST_SECRET = 6;

export interface Redactor {
  /** The text with every occurrence of a known secret, in any of its spellings, replaced by `[redacted]`. */
  redact(text: string): string;
  /** Makes one more secret known; one shorter than 6 characters is ignored. */
  add(secret: string): void;
}

/**
 * The part of a text's base64 that is the same whatever stands before and after it, for each of the three positions
 * at which it may begin: this finds `token`, `Bearer token` and `user:token` alike.
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
  // By way of bytes, because encodeURIComponent throws on half a surrogate pair.
  const wellFormed = Buffer.from(secret).toString();
  const query = new URLSearchParams([['', secret]]).toString().slice(1);
  const component = encodeURIComponent(wellFormed);
  const lower = (text: string) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  return [query, lower(query), component, lower(component), encodeURI(wellFormed)];
}

function jsonEscaped(text: string): string {
  return stringifyJson(text).slice(1, -1);
}

/** What a service may make of a text in JSON: slashes escaped, or whatever HTML could take for its own. */
function jsonEscapedForHtml(json: string): string[] {
  const lower = json.replace(/[&<>'+]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
  const upper = json.replace(/[&<>'+]/g, (character) => `\\u00${character.charCodeAt(0).toString(16).toUpperCase()}`);
  return [lower, upper].flatMap((text) => [text, text.replaceAll('/', '\\/')]);
}

function spellings(secret: string): Set<string> {
  const json = jsonEscaped(secret);
  const hex = Buffer.from(secret).toString('hex');
  return new Set([
    secret,
    sanitizeLine(secret),
    json,
    // Others escape less than we do.
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
  readonly from: number;
  readonly to: number;
}

function occurrences(text: string, part: string): Span[] {
  const found: Span[] = [];
  for (let from = text.indexOf(part); from !== -1; from = text.indexOf(part, from + 1)) {
    found.push({ from, to: from + part.length });
  }
  return found;
}

/** The text with the spans replaced; spans that overlap or touch become one mark, so that no piece is left between. */
function blotted(text: string, spans: readonly Span[]): string {
  let result = '';
  let done = 0;
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    if (from > done || done === 0) result += text.slice(done, from) + MARK;
    done = Math.max(done, to);
  }
  return result + text.slice(done);
}

/**
 * A redactor for the given secrets: raw, JSON-escaped, percent-encoded, in base64 (also as a part of what was
 * encoded), base64url and hexadecimal.
 */
export function createRedactor(secrets: Iterable<string> = []): Redactor {
  const parts = new Set<string>();
  const add = (secret: string): void => {
    if (secret.length < SHORTEST_SECRET) return;
    for (const spelling of spellings(secret)) parts.add(spelling);
  };
  for (const secret of secrets) add(secret);
  return {
    add,
    redact(text) {
      const spans = [...parts].flatMap((part) => occurrences(text, part));
      return spans.length === 0 ? text : blotted(text, spans);
    },
  };
}

/**
 * A sink that redacts what is written to it. Each write is looked at alone: a secret split over two writes is not
 * found, so writers hand over whole lines.
 */
export function redactingSink(sink: Sink, redactor: Redactor): Sink {
  return withWrite((text) => sink.write(redactor.redact(text)), sink);
}

const SECRET_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie']);

/** Headers as they may be shown: the values of those that carry credentials are replaced by `[redacted]`. */
export function redactHeaders<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value | string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.has(name.toLowerCase()) ? MARK : value]),
  );
}
