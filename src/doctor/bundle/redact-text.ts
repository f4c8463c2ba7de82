import type { Contract } from '../../contract/contract.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { type Pseudonyms, RUNS } from './pseudonyms.ts';
import { isServiceWord } from './vocabulary.ts';

/**
 * How a text is redacted. `private` replaces every letter and digit. `value` keeps a text that consists only of service words,
 * such as `assistant`. `prose` keeps every service word, as in an error message.
 */
export type TextMode = 'private' | 'value' | 'prose';

/** The service whose URLs become placeholders, which a replay replaces with its own. */
export interface RedactedService {
  readonly origin: string;
  /** The path of the base URL, without a slash at the end. */
  readonly basePath: string;
  readonly contract: Contract;
}

const DATE_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/;
const ABSOLUTE = /https?:\/\/[^\s<>"'\\^`{|}]+/gi;
/** A path, a query, or a path with a query: `/a/b`, `?page=2`, `a/b?page=2`. */
const RELATIVE = /^(\/[^\s]*|\?[^\s=]+=[^\s]*|[\w.~%/-]+\?[^\s=]+=[^\s]*)$/;

const COUNT =
  /(^|_)(total|counts?|size|limit|offset|pages?|per|bytes|length|skip|start|first|index|version|status|ms|seconds|after|expires_in|remaining|reset)$/;
const TIME = /(^|_)(at|on|time|date|ts|timestamp|created|updated|modified|expires|reset|run)$/;
const PRIVATE =
  /(^|_)(ids?|uuid|uid|guid|names?|title|label|text|content|body|message|description|instructions|prompt|notes?|comments?|subject|summary|e?mail|phone|secret|password|username)$/;

/** Converts a field name to snake case. */
function snake(name: string): string {
  return name
    .replace(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, '_')
    .replace(/[-.\s]+/g, '_')
    .toLowerCase();
}

/** Whether a field name is that of a count or a limit, which paging depends on. */
export function isCountField(name: string): boolean {
  return COUNT.test(snake(name));
}

/** Whether a field name is that of a time. */
export function isTimeField(name: string): boolean {
  return TIME.test(snake(name));
}

/** Whether a field name is that of an id, a name, or a text. */
export function isPrivateField(name: string): boolean {
  return PRIVATE.test(snake(name));
}

/** A text with at most this many digits identifies nobody by them: `HTTP 404`, `1 of 3`. */
const FEW_DIGITS = 3;

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** Redacts texts and URLs. */
export class TextRedactor {
  private readonly pseudonyms: Pseudonyms;
  private readonly service: RedactedService;
  /** The path segments of each operation; undefined marks a parameter. */
  private readonly paths: readonly (readonly (string | undefined)[])[];

  constructor(pseudonyms: Pseudonyms, service: RedactedService) {
    this.pseudonyms = pseudonyms;
    this.service = service;
    const operations = Object.values(OPERATIONS).flatMap(({ leaf }) => service.contract.operation(leaf) ?? []);
    this.paths = operations.map(({ path }) =>
      (path.split('?')[0] ?? '')
        .replace(/\/$/, '')
        .split('/')
        .map((segment) => (/^\{\w+\}$/.test(segment) ? undefined : segment)),
    );
  }

  /** Redacts a text, including the URLs in it. */
  text(text: string, mode: TextMode): string {
    if (DATE_TIME.test(text) || HTTP_DATE.test(text)) return text;
    if (RELATIVE.test(text)) return this.url(text);
    let [result, done] = ['', 0];
    for (const match of text.matchAll(ABSOLUTE)) {
      result += this.plain(text.slice(done, match.index), mode) + this.url(match[0]);
      done = match.index + match[0].length;
    }
    return result + this.plain(text.slice(done), mode);
  }

  /** Redacts an absolute or relative URL. The service's origin and base path become placeholders. */
  url(text: string): string {
    const [, start = '', path = '', query, fragment = ''] =
      /^(https?:\/\/[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?$/is.exec(text) ?? [];
    const redacted = query === undefined ? '' : `?${this.query(query.slice(1))}`;
    return `${this.address(start, path)}${redacted}${this.pseudonyms.replace(fragment)}`;
  }

  /** Redacts a path relative to the base URL. Of a known operation's path, redacts only the parameters. */
  path(path: string): string {
    const segments = path.split('/');
    const known = this.paths.find((candidate) => matches(candidate, path.replace(/\/$/, '').split('/')));
    return segments
      .map((segment, index) => {
        if (known && known[index] !== undefined) return segment;
        const plain = decode(segment);
        if (plain === undefined) return this.pseudonyms.replace(segment);
        const redacted = this.plain(plain, known ? 'private' : 'value');
        return redacted === plain ? segment : encodeURIComponent(redacted);
      })
      .join('/');
  }

  /** Redacts the value of a query parameter. */
  parameter(name: string, value: string): string {
    if (/^\d+$/.test(value) && isCountField(name)) return value;
    if (/^(https?:\/\/|\/)/i.test(value)) return this.url(value);
    return this.text(value, isPrivateField(name) ? 'private' : 'value');
  }

  private address(start: string, path: string): string {
    const { origin, basePath } = this.service;
    const isBelow = path === basePath || path.startsWith(`${basePath}/`);
    const rest = isBelow ? this.path(path.slice(basePath.length)) : this.path(path);
    if (start === '') return path.startsWith('/') && isBelow ? `{base_path}${rest}` : rest;
    if (URL.canParse(start) && new URL(start).origin === origin) return `${isBelow ? '{base_url}' : '{origin}'}${rest}`;
    const [, scheme = '', host = ''] = /^(https?:\/\/)(?:.*@)?(.*)$/is.exec(start) ?? [];
    return `${scheme}${this.pseudonyms.replace(host)}${this.path(path)}`;
  }

  private query(query: string): string {
    const pairs = query.split('&').map((pair) => {
      const [rawName = '', ...rest] = pair.split('=');
      const name = decode(rawName);
      const rawValue = rest.join('=');
      const value = decode(rawValue);
      if (name === undefined || value === undefined) return this.pseudonyms.replace(pair);
      const redacted = this.parameter(name, value);
      return rest.length === 0
        ? this.name(rawName)
        : `${this.name(rawName)}=${redacted === value ? rawValue : encodeURIComponent(redacted)}`;
    });
    return pairs.join('&');
  }

  /** Redacts the name of a query parameter that does not look like a name. */
  name(name: string): string {
    return /^[\w.%[\]$:-]{1,64}$/.test(name) && !/\d{3}/.test(name) ? name : this.pseudonyms.replace(name);
  }

  private plain(text: string, mode: TextMode): string {
    if (/^\d{1,3}$/.test(text)) return text;
    const digits = text.replace(/\D/g, '').length;
    const isKept = (run: string) => (/^\d+$/.test(run) ? digits <= FEW_DIGITS : isServiceWord(run));
    if (mode === 'private') return this.pseudonyms.replace(text);
    if (mode === 'value') return (text.match(RUNS) ?? []).every(isKept) ? text : this.pseudonyms.replace(text);
    return text.replace(RUNS, (run) => (isKept(run) ? run : this.pseudonyms.of(run)));
  }
}

function matches(pattern: readonly (string | undefined)[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length) return false;
  return pattern.every((literal, index) => literal === undefined || literal === segments[index]);
}
