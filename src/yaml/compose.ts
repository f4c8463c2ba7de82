import { Composer, type Node, type Schema, type YAMLParseError } from 'yaml';
import type { Findings } from './finding.ts';
import { type Scan, scan } from './scan.ts';
import type { Chunk } from './split.ts';
import { wording } from './syntax.ts';

export interface Composed {
  /** The document's node tree, offsets counted in the whole source; undefined where the syntax is broken. */
  readonly contents: Node | undefined;
  /** How many tokens were read. */
  readonly tokens: number;
}

/** Whether nodes can be trusted in spite of an error: all but a letter of a text is as it was meant. */
function isHarmless({ code }: YAMLParseError): boolean {
  return code === 'BAD_DQ_ESCAPE';
}

/** The errors up to the first one that leaves the structure in doubt; what comes after it may be its consequence. */
function tellingErrors(errors: readonly YAMLParseError[]): YAMLParseError[] {
  const own = errors.filter(({ code }) => code !== 'TAG_RESOLVE_FAILED').sort((a, b) => a.pos[0] - b.pos[0]);
  const first = own.findIndex((error) => !isHarmless(error));
  return first === -1 ? own : own.slice(0, first + 1);
}

/** Wrong indentation is found at the beginning of a line, and seen where its text begins. */
function afterSpaces(text: string, offset: number): number {
  let at = offset;
  while (text[at] === ' ') at += 1;
  return at;
}

/** The "*" that begins a value of several words, which YAML takes for an alias and something after it. */
function starBefore(text: string, offset: number): number | undefined {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  const star = /(?:^|[\s[{,])(?<alias>\*\S*\s+)$/.exec(line)?.groups?.alias;
  return star === undefined ? undefined : offset - star.length;
}

/** Where the parser sees only the end of what went wrong, the person is shown its beginning. */
function report(text: string, { code, message, pos }: YAMLParseError, scanned: Scan, findings: Findings): void {
  const { unclosedQuote, unclosedBracket } = scanned;
  const [found, end] = pos;
  const start = code === 'BAD_INDENT' ? afterSpaces(text, found) : found;
  const star = starBefore(text, start);
  if (/closing .quote/.test(message) && unclosedQuote) {
    findings.add(unclosedQuote, 'this quote is not closed', 'close it, or indent the lines that its text goes on over');
  } else if (/^Flow .* end with/.test(message) && unclosedBracket) {
    findings.add(unclosedBracket, 'this bracket is not closed', 'close it, or indent the lines within it');
  } else if (start > 0 && text.startsWith('${', start - 1)) {
    const span = { offset: start - 1, length: 2 };
    findings.add(span, 'within { } or [ ], a value with "${" needs quotes', 'or put the value on a line of its own');
  } else if (star !== undefined) {
    findings.add({ offset: star, length: 1 }, 'a plain value cannot begin with "*"', 'put quotes around the value');
  } else {
    const said = wording(code, message);
    findings.add({ offset: start, length: Math.max(0, end - start) }, said.message, said.hint);
  }
}

/**
 * Parses one document. Syntax errors, tags, and passed limits become findings.
 * @param schema which plain values are numbers, booleans and so on
 * @param tokenBudget how many tokens may still be read from this source
 */
export function compose(text: string, chunk: Chunk, schema: Schema, tokenBudget: number, findings: Findings): Composed {
  const carriageReturn = /\r(?!\n)/.exec(text.slice(chunk.start, chunk.end));
  if (carriageReturn) {
    const span = { offset: chunk.start + carriageReturn.index, length: 1 };
    findings.add(span, 'a carriage return without a line feed', 'save the file with LF or CRLF line ends');
    return { contents: undefined, tokens: 0 };
  }
  const scanned = scan(text, chunk, tokenBudget);
  const { tokens, count, tags, refused } = scanned;
  for (const tag of tags) findings.add(tag, 'tags are not used here', 'leave the tag out; quotes make a value text');
  if (refused) {
    findings.add(refused, refused.message, refused.hint);
    return { contents: undefined, tokens: count };
  }
  // Duplicate keys are found later, in linear time.
  const composer = new Composer({ schema, uniqueKeys: false, resolveKnownTags: false });
  const [document, second] = composer.compose(tokens, true, chunk.end);
  const errors = document?.errors ?? [];
  for (const error of tellingErrors(errors)) report(text, error, scanned, findings);
  if (second) findings.add({ offset: second.range[0], length: 0 }, 'a second document begins here without "---"');
  const isSound = second === undefined && errors.every(isHarmless);
  return { contents: isSound ? (document?.contents ?? undefined) : undefined, tokens: count };
}
