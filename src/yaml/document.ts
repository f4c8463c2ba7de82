import {
  Composer,
  type Document,
  isMap,
  isNode,
  isScalar,
  Parser,
  type Scalar,
  visit,
  type YAMLMap,
  type YAMLParseError,
  type YAMLSeq,
} from 'yaml';
import { errorMessage } from '../platform/error-code.ts';
import { interpolate, type Lookup } from './interpolate.ts';
import { type ProblemList, type Range, withRow } from './problem.ts';
import { printable, quoted } from './text.ts';

function rangeOf(node: unknown): Range {
  const [start, end] = (isNode(node) && node.range) || [0, 0];
  return [start, end];
}

export type Path = readonly (string | number)[];

interface Content {
  readonly document: Document.Parsed;
  readonly problems: ProblemList;
  /** The names of the variables in each text that was made from some. */
  readonly variables: Map<unknown, readonly string[]>;
  /** The texts that were made from variables, each as it was written. */
  readonly written: Map<string, string>;
}

/** A range of a source, to report problems with. */
export interface SourceRange {
  readonly problems: ProblemList;
  readonly range: Range;
}

/** `acme.yaml:3`; `acme.yaml:3 (customers.csv:17)` of a source that was read with a row. */
export function fileAndLine({ problems, range }: SourceRange): string {
  return withRow(`${problems.name}:${problems.positionAt(range[0]).line}`, problems.row?.place);
}

/** A document as plain data that knows where each of its values is. */
export class YamlDocument {
  readonly value: unknown;
  private readonly content: Content;

  constructor(value: unknown, content: Content) {
    this.value = value;
    this.content = content;
  }

  /** The value at a path; undefined if there is none. */
  get(path: Path): unknown {
    return path.reduce<unknown>(
      (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
      this.value,
    );
  }

  /** The names of the variables in a text. What they hold may be a secret: messages do not repeat it. */
  variables(path: Path): readonly string[] {
    return this.content.variables.get(this.get(path)) ?? [];
  }

  /** The texts that were made from variables, each as it was written. */
  get written(): ReadonlyMap<string, string> {
    return this.content.written;
  }

  /** The place of a value: at the start of a list or a mapping, under any other value. Keeps no node in memory. */
  place(path: Path): SourceRange {
    const value = this.get(path);
    const [start, end] = rangeOf(this.nodeAt(path));
    const isHolder = value === undefined || (typeof value === 'object' && value !== null);
    return { problems: this.content.problems, range: [start, isHolder ? start : end] };
  }

  /** Reports a problem with a value. */
  report(path: Path, message: string, hint?: string): void {
    const { problems, range } = this.place(path);
    problems.add(range, message, hint);
  }

  reportKey(path: Path, message: string, hint?: string): void {
    const holder = this.nodeAt(path.slice(0, -1));
    const pair = isMap(holder) && holder.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
    this.content.problems.add(rangeOf(pair ? pair.key : holder), message, hint);
  }

  /** The node at a path, or the closest one around it: what an alias or a merge key stands for is elsewhere. */
  private nodeAt(path: Path): unknown {
    const { document } = this.content;
    for (let length = path.length; length > 0; length -= 1) {
      const node = document.getIn(path.slice(0, length), true);
      if (isNode(node)) return node;
    }
    return document.contents;
  }
}

/** How often aliases may repeat values: more only wears out the machine. */
const MAX_ALIASES = 10_000;

const SYNTAX_HINT =
  'check the indentation, and that quotes and brackets are closed; put quotes around text with *, &, ": ", or ${ in { }';

/** Reports a syntax error. Where a tab indents the line of one, the tab is the cause, whatever the parser says. */
function reportSyntax({ code, message, pos }: YAMLParseError, problems: ProblemList): void {
  const start = problems.text.lastIndexOf('\n', pos[0] - 1) + 1;
  const tab = /^( *)\t/.exec(problems.text.slice(start));
  if (tab?.[1] !== undefined) {
    const at = start + tab[1].length;
    problems.add([at, at + 1], 'invalid YAML: Tabs are not allowed as indentation', 'use spaces');
  } else if (code === 'RESOURCE_EXHAUSTION') problems.add(pos, 'nested too deep', SYNTAX_HINT);
  else {
    const hint = code === 'DUPLICATE_KEY' ? 'remove one of the two' : SYNTAX_HINT;
    problems.add(pos, `invalid YAML: ${printable(message.slice(0, 200))}`, hint);
  }
}

/** Replaces the variables in the values of a document, and reports what cannot become plain data. */
function prepare({ document, problems, variables, written }: Content, lookup: Lookup): void {
  const anchors = new Set<string>();
  const enter = (node: Scalar | YAMLMap | YAMLSeq) => {
    if (node.tag !== undefined) problems.add(rangeOf(node), 'tags are not supported', 'leave out the tag');
    if (node.anchor !== undefined) anchors.add(node.anchor);
  };
  visit(document, {
    Alias(_, node) {
      if (anchors.has(node.source)) return;
      const hint = 'put quotes around text that starts with "*"';
      problems.add(rangeOf(node), `the anchor ${quoted(`&${node.source}`)} is not defined`, hint);
    },
    Collection(_, node) {
      enter(node);
    },
    Scalar(role, node) {
      enter(node);
      if (typeof node.value !== 'string' || !node.value.includes('${')) return;
      if (role === 'key') return problems.add(rangeOf(node), 'variables can be used in values, not in keys');
      const { text, names, faults } = interpolate(node.value, lookup);
      for (const { message, hint } of faults) problems.add(rangeOf(node), message, hint);
      if (names.length > 0) {
        variables.set(text, names);
        written.set(text, node.value);
      }
      node.value = text;
    },
  });
}

function isEmpty({ contents }: Document.Parsed): boolean {
  return isScalar(contents) && contents.value === null && contents.source === '' && !contents.anchor && !contents.tag;
}

/**
 * Reads the documents of a source, except empty ones. A document with a mistake is reported and left out: its first
 * syntax error; else all its undefined aliases, tags, and variables without a value.
 * @param problems the source; takes its problems
 * @param lookup the value of a variable
 */
export function* loadDocuments(problems: ProblemList, lookup: Lookup): Generator<YamlDocument, void, void> {
  const options = { merge: true, stringKeys: true, resolveKnownTags: false } as const;
  const composer = new Composer({ ...options, prettyErrors: false, logLevel: 'silent' });
  // Most sources have neither variables nor what cannot become plain data: anchors, aliases, and tags.
  const isPlain = !/[&*!]|\$\{/.test(problems.text);
  let isWritten = false;
  // One at a time: the nodes of thousands of documents take hundreds of megabytes.
  for (const document of composer.compose(new Parser().parse(problems.text))) {
    if (document.errors.length === 0 && isEmpty(document)) continue;
    isWritten = true;
    const before = problems.size;
    // An error may be the consequence of the one before it.
    const [error] = document.errors.sort((one, other) => one.pos[0] - other.pos[0]);
    const content: Content = { document, problems, variables: new Map(), written: new Map() };
    if (error) reportSyntax(error, problems);
    else if (!isPlain) prepare(content, lookup);
    if (problems.size > before) continue;
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (failure) {
      const [start] = rangeOf(document.contents);
      problems.add([start, start], `invalid YAML: ${errorMessage(failure)}`);
      continue;
    }
    yield new YamlDocument(value, content);
  }
  if (!isWritten) problems.add([0, 0], 'this source contains no document', 'write one, or leave the file out');
}
