import {
  Composer,
  type Document,
  type ErrorCode,
  isCollection,
  isScalar,
  Parser,
  type Scalar,
  visit,
  type YAMLMap,
  type YAMLParseError,
  type YAMLSeq,
} from 'yaml';
import { type Content, rangeOf, YamlDocument } from './document.ts';
import { interpolate, type Lookup } from './interpolate.ts';
import { type ProblemList, positionAt, type Range, type SourceText } from './problem.ts';
import { printable, quoted } from './quote.ts';

/** How often aliases may repeat values: more only wears out the machine. */
const MAX_ALIASES = 10_000;

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

function reportSyntaxError(
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
  if (code === 'RESOURCE_EXHAUSTION') {
    problems.add([start, start], 'nested too deep', 'check the indentation, and that each bracket is closed');
  } else if (opening !== undefined) {
    const what = /["']/.test(text.charAt(opening)) ? 'quote' : 'bracket';
    problems.add([opening, opening + 1], `this ${what} is not closed`, 'close it, or indent the lines inside it');
  } else if (start > 0 && text.startsWith('${', start - 1)) {
    const hint = 'or put the value on a line of its own';
    problems.add([start - 1, start + 1], 'a value with "${" needs quotes inside { } or [ ]', hint);
  } else if (alias !== undefined) {
    const at = start - alias.length;
    problems.add([at, at + 1], 'a value that starts with "*" needs quotes', 'without quotes, "*" starts an alias');
  } else if (code === 'NON_STRING_KEY') {
    problems.add([start, end], 'a key must be text', 'put quotes around a key that starts with [, {, *, or &');
  } else {
    problems.add([start, end], `invalid YAML: ${printable(message.slice(0, 200))}`, HINTS[code]);
  }
}

/** Reports the keys that come twice: the parser takes quadratic time for that, and does not name the first one. */
function checkKeys({ items }: YAMLMap, { source, problems }: Content): void {
  const first = new Map<unknown, Range>();
  for (const { key } of items) {
    if (!isScalar(key)) continue;
    const range = first.get(key.value);
    if (range === undefined) first.set(key.value, rangeOf(key));
    else {
      const { line } = positionAt(source, range[0]);
      problems.add(rangeOf(key), `duplicate key ${quoted(String(key.value))}, first on line ${line}`);
    }
  }
}

/** Replaces the variables of a value in place, and reports those without a value. */
function insertVariables(node: Scalar, text: string, lookup: Lookup, content: Content): void {
  const { source, problems } = content;
  const { text: replaced, names, faults, isSingle } = interpolate(text, lookup);
  const [start, end] = rangeOf(node);
  let from = start;
  for (const { written, message, hint } of faults) {
    // Escapes and folded lines may change how it is written.
    const at = source.text.slice(0, end).indexOf(written, from);
    problems.add(at === -1 ? [start, end] : [at, at + written.length], message, hint);
    if (at !== -1) from = at + written.length;
  }
  node.value = replaced;
  if (names.length > 0) content.variables.set(node, { names, isBare: isSingle && node.type === 'PLAIN' });
}

/** Replaces the variables in the values of a document, and reports what cannot become plain data. */
function prepare(content: Content, lookup: Lookup): void {
  const { document, problems } = content;
  const anchors = new Set<string>();
  const enter = (node: Scalar | YAMLMap | YAMLSeq) => {
    if (node.tag !== undefined) {
      const hint = 'leave out the tag; put quotes around a value that is text';
      problems.add(rangeOf(node), 'tags are not supported', hint);
    }
    if (node.anchor !== undefined) anchors.add(node.anchor);
  };
  visit(document, {
    Alias(_, node) {
      const { source: name } = node;
      if (anchors.has(name)) return;
      const hint = 'an alias needs an anchor before it in the document; text that starts with "*" needs quotes';
      problems.add(rangeOf(node), `the anchor ${quoted(`&${name}`)} is not defined`, hint);
    },
    Seq(_, node) {
      enter(node);
    },
    Map(_, node) {
      enter(node);
      checkKeys(node, content);
    },
    Scalar(role, node) {
      enter(node);
      if (typeof node.value !== 'string' || !node.value.includes('${')) return;
      if (role !== 'key') insertVariables(node, node.value, lookup, content);
      else problems.add(rangeOf(node), 'variables can be used in values, not in keys');
    },
  });
}

function isEmpty({ contents }: Document.Parsed): boolean {
  return isScalar(contents) && contents.value === null && contents.source === '' && !contents.anchor && !contents.tag;
}

/**
 * Reads the documents of a source, except empty ones. A document with a mistake is reported and left out: its first
 * syntax error; else all its duplicate keys, undefined aliases, tags, and variables without a value.
 * @param lookup the value of a variable
 */
export function* loadDocuments(
  source: SourceText,
  problems: ProblemList,
  lookup: Lookup,
): Generator<YamlDocument, void, void> {
  const options = { merge: true, stringKeys: true, uniqueKeys: false, resolveKnownTags: false } as const;
  const composer = new Composer({ ...options, prettyErrors: false, logLevel: 'silent' });
  let isWritten = false;
  // One at a time: the nodes of thousands of documents take hundreds of megabytes.
  for (const document of composer.compose(new Parser().parse(source.text))) {
    if (document.errors.length === 0 && isEmpty(document)) continue;
    isWritten = true;
    const before = problems.size;
    // An error may be the consequence of the one before it.
    const [error] = document.errors.sort((one, other) => one.pos[0] - other.pos[0]);
    const content: Content = { document, source, problems, variables: new Map() };
    if (error) reportSyntaxError(error, document, source, problems);
    else prepare(content, lookup);
    if (problems.size > before) continue;
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (failure) {
      const isBomb = failure instanceof ReferenceError;
      const what = isBomb ? 'its aliases stand for too many values' : '"<<" takes a mapping, or a list of mappings';
      const [start] = rangeOf(document.contents);
      problems.add([start, start], what);
      continue;
    }
    yield new YamlDocument(value, content);
  }
  if (!isWritten) problems.add([0, 0], 'this source contains no document', 'write one, or leave the file out');
}
