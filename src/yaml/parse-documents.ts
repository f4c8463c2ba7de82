import {
  Composer,
  type CST,
  type Document,
  type ErrorCode,
  isCollection,
  isScalar,
  Lexer,
  type Node,
  Parser,
  Schema,
  visit,
  type YAMLParseError,
} from 'yaml';
import type { ProblemList } from './problem.ts';
import { printable } from './quote.ts';
import { LIMITS, type Limits, type SourceText, UnreadableSource } from './source-text.ts';

const HINTS: Partial<Record<ErrorCode, string>> = {
  BAD_ALIAS: 'put quotes around a value that starts with "*" or "&"',
  BAD_DQ_ESCAPE: 'write a backslash as \\\\, or use single quotes',
  BAD_INDENT: 'start the keys of a mapping, and the items of a list, in the same column',
  BAD_SCALAR_START: 'put quotes around the value',
  BLOCK_AS_IMPLICIT_KEY: 'put quotes around a value that contains ": ", or check the indentation of the next line',
  MISSING_CHAR: 'look for a missing ": ", comma, quote, or bracket, and check the indentation',
  MULTILINE_IMPLICIT_KEY: 'write a key and its value as "key: value", on one line',
  TAB_AS_INDENT: 'indent with spaces',
  UNEXPECTED_TOKEN: 'check the indentation of this line, and the quotes and brackets before it',
};

/** Yields tokens without recursion and stops at the limits, because the composer recurses and keeps every error. */
function* parseTokens(text: string, limits: Limits): Generator<CST.Token> {
  if (text.length > limits.sourceLength) {
    const limit = limits.sourceLength.toLocaleString('en');
    throw new UnreadableSource(0, `longer than ${limit} characters`, SPLIT_HINT);
  }
  const carriageReturn = text.search(/\r(?!\n)/);
  if (carriageReturn !== -1) {
    const hint = 'save the file with LF or CRLF line ends';
    throw new UnreadableSource(carriageReturn, 'a carriage return without a line feed', hint);
  }
  const parser = new Parser();
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    const { offset } = parser;
    for (const token of parser.next(lexeme)) {
      if (token.type === 'document') count = 0;
      yield token;
    }
    // Each escape may be an error of its own.
    count += lexeme.startsWith('"') ? lexeme.split('\\').length : 1;
    if (count > limits.tokensPerDocument) {
      const limit = limits.tokensPerDocument.toLocaleString('en');
      throw new UnreadableSource(offset, `more than ${limit} YAML tokens in one document`, 'split the document');
    }
    // The stack also holds the document and the value being read.
    if (parser.stack.length - 2 > limits.depth) {
      const hint = 'check the indentation, and that each bracket is closed';
      throw new UnreadableSource(offset, `nested deeper than ${limits.depth} levels`, hint);
    }
  }
  yield* parser.end();
}

const SPLIT_HINT = 'split the source into several files';

const CLOSING: Readonly<Record<string, string>> = { '[': ']', '{': '}', '"': '"', "'": "'" };

/** Finds the innermost quote or bracket that is open at an offset: the parser reports only where its end is missing. */
function findUnclosed(document: Document.Parsed, text: string, offset: number): number | undefined {
  let unclosed: number | undefined;
  visit(document, {
    Node(_, node) {
      const [start, end] = node.range ?? [0, 0];
      if (!isScalar(node) && !isCollection(node)) return;
      const closing = CLOSING[text.charAt(start)];
      const isClosed = end - start > 1 && text[end - 1] === closing;
      if (closing !== undefined && !isClosed && start <= offset) unclosed = start;
    },
  });
  return unclosed;
}

function addSyntaxProblem(
  { code, message, pos: [start, end] }: YAMLParseError,
  document: Document.Parsed,
  { text }: SourceText,
  problems: ProblemList,
): void {
  const isUnclosed = /^Missing closing|end with a [\]}]$/.test(message);
  const opening = isUnclosed ? findUnclosed(document, text, start) : undefined;
  // YAML reads the "*" of `*/5 9 * * *` as an alias, and reports what follows it.
  const line = text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
  const alias = /(?:^|[\s[{,])(?<alias>\*\S*\s+)$/.exec(line)?.groups?.alias;
  if (opening !== undefined) {
    const what = /["']/.test(text.charAt(opening)) ? 'quote' : 'bracket';
    problems.add([opening, opening + 1], `this ${what} is not closed`, 'close it, or indent the lines inside it');
  } else if (start > 0 && text.startsWith('${', start - 1)) {
    const hint = 'or put the value on a line of its own';
    problems.add([start - 1, start + 1], 'a value with "${" needs quotes inside { } or [ ]', hint);
  } else if (alias !== undefined) {
    const at = start - alias.length;
    problems.add([at, at + 1], 'a value that starts with "*" needs quotes', 'without quotes, "*" starts an alias');
  } else {
    problems.add([start, end], `invalid YAML: ${printable(message.slice(0, 200))}`, HINTS[code]);
  }
}

function isEmpty({ contents }: Document.Parsed): boolean {
  return isScalar(contents) && contents.value === null && contents.source === '' && !contents.anchor && !contents.tag;
}

/**
 * Yields the contents of each document without syntax errors, except empty ones. Reports the first syntax error of every
 * other document. Duplicate keys and tags are no syntax errors here: `buildValue` reports them.
 * @throws UnreadableSource
 */
export function* parseDocuments(source: SourceText, problems: ProblemList, limits: Limits = LIMITS): Generator<Node> {
  const schema = new Schema({ schema: 'core', resolveKnownTags: false });
  // Duplicate keys are found when values are built: the parser takes quadratic time to find them.
  const composer = new Composer({ schema, resolveKnownTags: false, uniqueKeys: false });
  let count = 0;
  let hasContent = false;
  for (const document of composer.compose(parseTokens(source.text, limits))) {
    count += 1;
    if (count > limits.documents) {
      const limit = limits.documents.toLocaleString('en');
      throw new UnreadableSource(document.range[0], `more than ${limit} documents in one source`, SPLIT_HINT);
    }
    // Tags are reported when values are built. An error may be the consequence of the one before it.
    const [error] = document.errors
      .filter(({ code }) => code !== 'TAG_RESOLVE_FAILED')
      .sort((one, other) => one.pos[0] - other.pos[0]);
    const contents = isEmpty(document) ? null : document.contents;
    hasContent ||= error !== undefined || contents !== null;
    if (error) addSyntaxProblem(error, document, source, problems);
    else if (contents) yield contents;
  }
  if (!hasContent) problems.add([0, 0], 'this source contains no document', 'write one, or leave the file out');
}
