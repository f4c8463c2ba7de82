import { CST, Lexer, Parser } from 'yaml';
import type { Finding, Span } from './finding.ts';
import { LIMITS } from './limits.ts';
import type { Chunk } from './split.ts';

/** The tokens of one document, and what they alone can tell. */
export interface Scan {
  readonly tokens: readonly CST.Token[];
  /** How many tokens were read. */
  readonly count: number;
  readonly tags: readonly Span[];
  /** Where the first quoted text begins that does not end. */
  readonly unclosedQuote: Span | undefined;
  /** Where the first `[` or `{` stands that is not closed. */
  readonly unclosedBracket: Span | undefined;
  /** The limit that ended the reading, if one did. */
  readonly refused: Finding | undefined;
}

const ESCAPE = /\\(?<known>[0abefnrtvNLP_ "/\\\t\r\n]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})?/g;

function isUnclosedQuote(lexeme: string, type: CST.TokenType | null): boolean {
  if (type !== 'double-quoted-scalar' && type !== 'single-quoted-scalar') return false;
  return lexeme.length === 1 || !lexeme.endsWith(lexeme.charAt(0));
}

function badEscapes(lexeme: string): number {
  let count = 0;
  for (const { groups } of lexeme.matchAll(ESCAPE)) if (groups?.known === undefined) count += 1;
  return count;
}

/** Follows the brackets of a document, to find the one that is missing its end. */
class Brackets {
  unclosed: Span | undefined;
  #open: Span[] = [];

  see(type: CST.TokenType | null, span: Span): void {
    if (type === 'flow-map-start' || type === 'flow-seq-start') this.#open.push(span);
    else if (type === 'flow-map-end' || type === 'flow-seq-end') this.#open.pop();
    else if (type === 'flow-error-end') this.end();
  }

  end(): void {
    this.unclosed ??= this.#open.at(-1);
    this.#open = [];
  }
}

/**
 * Reads a document's tokens without recursion, and stops as soon as a limit is passed: what is done with the tokens
 * later does recurse, and keeps every node and every error.
 * @param tokenBudget how many tokens may still be read from this source
 */
export function scan(text: string, chunk: Chunk, tokenBudget: number): Scan {
  const parser = new Parser();
  // Offsets then count in the whole source.
  parser.offset = chunk.start;
  const brackets = new Brackets();
  const tokens: CST.Token[] = [];
  const tags: Span[] = [];
  let unclosedQuote: Span | undefined;
  let count = 0;
  let escapes = 0;
  let isScalarText = false;

  const passedLimit = (): Pick<Finding, 'message' | 'hint'> | undefined => {
    // The document itself and a value in the making are on the parser's stack, too.
    if (parser.stack.length - 2 > LIMITS.depth) {
      const hint = 'check the indentation, and that each bracket is closed';
      return { message: `nested deeper than ${LIMITS.depth} levels`, hint };
    }
    if (count > tokenBudget) {
      const many = LIMITS.tokens.toLocaleString('en');
      return { message: `this source holds more than ${many} YAML tokens`, hint: 'split it into several files' };
    }
    if (count > LIMITS.tokensPerDocument) {
      const many = LIMITS.tokensPerDocument.toLocaleString('en');
      return { message: `this document holds more than ${many} YAML tokens`, hint: 'split it into several documents' };
    }
    if (escapes > LIMITS.badEscapes) {
      const hint = 'write a backslash as \\\\, or use single quotes';
      return { message: `more than ${LIMITS.badEscapes} unknown escapes in double quotes`, hint };
    }
    return undefined;
  };

  for (const lexeme of new Lexer().lex(text.slice(chunk.start, chunk.end))) {
    const span = { offset: parser.offset, length: lexeme.length };
    const type = isScalarText ? 'scalar' : CST.tokenType(lexeme);
    isScalarText = !isScalarText && lexeme === CST.SCALAR;
    if (type === 'tag') tags.push(span);
    if (type === 'double-quoted-scalar') escapes += badEscapes(lexeme);
    if (isUnclosedQuote(lexeme, type)) unclosedQuote ??= { offset: span.offset, length: 1 };
    brackets.see(type, span);
    for (const token of parser.next(lexeme)) tokens.push(token);
    count += 1;
    // What the parser cannot place breaks the document; the rest of it would only repeat that.
    if (tokens.at(-1)?.type === 'error') break;
    const passed = passedLimit();
    if (passed) {
      const refused = { offset: span.offset, length: Math.min(span.length, 1), ...passed };
      return { tokens, count, tags, unclosedQuote, unclosedBracket: brackets.unclosed, refused };
    }
  }
  brackets.end();
  for (const token of parser.end()) tokens.push(token);
  return { tokens, count, tags, unclosedQuote, unclosedBracket: brackets.unclosed, refused: undefined };
}
