/** Named HTML references of the ASCII characters that have one. */
const HTML_NAMES: Readonly<Record<string, string>> = {
  '\t': 'Tab',
  '\n': 'NewLine',
  '!': 'excl',
  '"': 'quot|QUOT',
  '#': 'num',
  $: 'dollar',
  '%': 'percnt',
  '&': 'amp|AMP',
  "'": 'apos',
  '(': 'lpar',
  ')': 'rpar',
  '*': 'ast|midast',
  '+': 'plus',
  ',': 'comma',
  '.': 'period',
  '/': 'sol',
  ':': 'colon',
  ';': 'semi',
  '<': 'lt|LT',
  '=': 'equals',
  '>': 'gt|GT',
  '?': 'quest',
  '@': 'commat',
  '[': 'lsqb|lbrack',
  '\\': 'bsol',
  ']': 'rsqb|rbrack',
  '^': 'Hat',
  _: 'lowbar|UnderBar',
  '`': 'grave|DiacriticalGrave',
  '{': 'lcub|lbrace',
  '|': 'vert|verbar|VerticalLine',
  '}': 'rcub|rbrace',
};

/** Letters that follow a backslash in place of a control character. */
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\b': 'b',
  '\f': 'f',
  '\n': 'n',
  '\r': 'r',
  '\t': 't',
  '\0': '0',
};

// The start of an escape may be escaped itself: `%25` is a percent sign, `\u0026` and `&amp;` are ampersands, and JSON in
// JSON doubles its backslashes. The bound keeps the search linear.
const BACKSLASHES = '(?:\\\\|%(?:25)*5[cC]){1,8}';
const NUMBER_SIGN = '(?:#|%(?:25)*23)';
const SEMICOLON = '(?:;|%(?:25)*3[bB])';

function escapeForRegExp(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');
}

function hex(value: number, width: number): string {
  const digits = value.toString(16).padStart(width, '0');
  return digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/**
 * Returns the sources of regular expressions that match a character as HTML, JavaScript, or URLs escape it.
 * @param character a code point, or a lone surrogate
 */
function escapesOf(character: string): string[] {
  const code = character.codePointAt(0) ?? 0;
  const units = Array.from({ length: character.length }, (_, index) => `u${hex(character.charCodeAt(index), 4)}`);
  const name = HTML_NAMES[character];
  const letter = SHORT_ESCAPES[character];
  const percent = Array.from(Buffer.from(character), (byte) => `(?:25)*${hex(byte, 2)}`).join('%');
  const numeric = `${NUMBER_SIGN}(?:0*${code}|[xX]0*${hex(code, 1)})${SEMICOLON}?`;
  const named = name === undefined ? [] : [`(?:${name})${SEMICOLON}`];
  const backslash = [
    units.join(BACKSLASHES),
    `u\\{0*${hex(code, 1)}\\}`,
    ...(code <= 0xff ? [`x${hex(code, 2)}`] : []),
    ...(letter === undefined ? [] : [letter]),
    ...(/[!-/:-@[-`{-~]/.test(character) ? [escapeForRegExp(character), `%${percent}`] : []),
  ];
  return [
    `(?:&|%(?:25)*26|${BACKSLASHES}u0026)(?:amp;)*(?:${[numeric, ...named].join('|')})`,
    `${BACKSLASHES}(?:${backslash.join('|')})`,
    `(?:%|${BACKSLASHES}u0025)${percent}|%${units.join('%')}${character === ' ' ? '|\\+' : ''}`,
  ];
}

/** The characters that are accepted at one position of a pattern. */
export type Alternatives = readonly string[];

function rawSource(characters: Alternatives): string {
  const raw = characters.map(escapeForRegExp);
  // A form encodes a space as a plus sign.
  return `(?:${[...raw, ...(characters.includes(' ') ? ['\\+'] : [])].join('|')})`;
}

/** A part of a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** How many characters the search expression covers; `endAt` compares the rest. Longer expressions compile slowly. */
const RAW_LENGTH = 12;
const ESCAPED_LENGTH = 3;

/** Finds the spellings of a secret in a text. */
export class SecretPattern {
  private readonly positions: readonly Alternatives[];
  private readonly isEncoded: boolean;
  private readonly raw: RegExp;
  /** Created only if a text contains an escape, because that takes milliseconds. */
  private head: RegExp | undefined;
  private readonly escapes = new Map<number, readonly RegExp[]>();

  /** @param isEncoded whether it is base64 or hexadecimal, whose letters and digits nobody escapes */
  constructor(positions: readonly Alternatives[], isEncoded: boolean) {
    this.positions = positions;
    this.isEncoded = isEncoded;
    this.raw = new RegExp(positions.slice(0, RAW_LENGTH).map(rawSource).join(''), 'g');
  }

  /**
   * Finds all occurrences, including overlapping ones. Each character may be raw or escaped in its own way: for URLs, HTML,
   * JSON, or JavaScript, even twice. Takes time linear in the length of the text.
   */
  findAll(text: string): Span[] {
    const spans: Span[] = [];
    const search = /[%&\\]/.test(text) ? this.headPattern() : this.raw;
    search.lastIndex = 0;
    for (let match = search.exec(text); match; match = search.exec(text)) {
      const end = this.endAt(text, match.index);
      if (end !== undefined) spans.push({ start: match.index, end });
      search.lastIndex = match.index + 1;
    }
    return spans;
  }

  private headPattern(): RegExp {
    const head = this.positions.slice(0, ESCAPED_LENGTH);
    this.head ??= new RegExp(
      head.map((each) => `(?:${[rawSource(each), ...this.escapeSources(each)].join('|')})`).join(''),
      'g',
    );
    return this.head;
  }

  private escapeSources(characters: Alternatives): string[] {
    return characters.filter((each) => !this.isEncoded || !/[\dA-Za-z]/.test(each)).flatMap(escapesOf);
  }

  private endAt(text: string, start: number): number | undefined {
    let ends = [start];
    for (const position of this.positions.keys()) {
      ends = ends.flatMap((at) => this.endsOf(position, text, at));
      if (ends.length === 0) return undefined;
      if (ends.length > 1) ends = [...new Set(ends)];
    }
    return Math.max(...ends);
  }

  /** Returns the possible ends of a character that starts at `at`: a `%` or `\` may be itself or the start of an escape. */
  private endsOf(position: number, text: string, at: number): number[] {
    const characters = this.positions[position] ?? [];
    const ends = characters.filter((each) => text.startsWith(each, at)).map((each) => at + each.length);
    if (!'%&\\+'.includes(text.charAt(at))) return ends;
    const escapes =
      this.escapes.get(position) ?? this.escapeSources(characters).map((source) => new RegExp(source, 'y'));
    this.escapes.set(position, escapes);
    for (const spelling of escapes) {
      spelling.lastIndex = at;
      if (spelling.test(text)) ends.push(spelling.lastIndex);
    }
    return ends;
  }
}
