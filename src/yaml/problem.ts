import stringWidth from 'string-width';
import { LineCounter } from 'yaml';
import { InputError } from '../errors.ts';
import { printable } from './quote.ts';

/** A text as it was read. */
export interface YamlSource {
  /** As shown to people: `acme.yaml`, `<stdin>`. */
  readonly name: string;
  readonly text: string;
}

/** A source without its byte order mark. */
export interface SourceText extends YamlSource {
  readonly lines: LineCounter;
  /** The number of its first line: 1, unless it is a part of a file. */
  readonly firstLine: number;
}

/** Start and end offsets in a source text, in UTF-16 units. */
export type Range = readonly [start: number, end: number];

/** @param firstLine the number of its first line, if the text is a part of a file */
export function toSourceText({ name, text: raw }: YamlSource, firstLine = 1): SourceText {
  const text = raw.replace(/^\uFEFF/, '');
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  return { name, text, lines, firstLine };
}

/** Line and column of an offset, both from 1; the column in UTF-16 units, as editors count. */
export function positionAt({ lines, firstLine }: SourceText, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: line + firstLine - 1, column: col };
}

/** A mistake in a source, ready to be shown. */
export interface Problem {
  readonly source: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
  /** The source line with its number, and a line of carets below it; safe for a terminal. */
  readonly excerpt: string;
  /** How much of the source is meant, in UTF-16 units; absent where something is missing. */
  readonly length?: number;
}

/** More than a person corrects before the next run. */
export const MAX_PROBLEMS = 1_000;

const MAX_EXCERPT_WIDTH = 120;
const MAX_BEFORE_CARET = 60;

/**
 * The source line of a range with its number, and a line of carets under the range. A long line is clipped around the
 * carets; a range of several lines is underlined up to the end of its first one.
 */
export function formatExcerpt(source: SourceText, [start, end]: Range): string {
  const { text } = source;
  const { line, column } = positionAt(source, start);
  const lineStart = start - column + 1;
  const newline = text.indexOf('\n', lineStart);
  const rest = text.slice(lineStart, newline === -1 ? undefined : newline);
  const lineEnd = lineStart + (rest.endsWith('\r') ? rest.length - 1 : rest.length);
  const caret = Math.min(start, lineEnd);
  const from = caret - lineStart > MAX_BEFORE_CARET ? caret - MAX_BEFORE_CARET : lineStart;
  const to = Math.min(lineEnd, from + MAX_EXCERPT_WIDTH);
  const before = `${from > lineStart ? '…' : ''}${printable(text.slice(from, caret))}`;
  const after = `${printable(text.slice(caret, to))}${to < lineEnd ? '…' : ''}`;
  const underlined = printable(text.slice(caret, Math.min(to, Math.max(end, start + 1))));
  const number = String(line).padStart(4);
  const gap = ' '.repeat(stringWidth(before));
  const carets = '^'.repeat(Math.max(1, stringWidth(underlined)));
  return `${number} | ${before}${after}\n${' '.repeat(number.length)} | ${gap}${carets}`;
}

/** The problems of one source, each one once. */
export class ProblemList {
  private readonly source: SourceText;
  private readonly problems = new Map<string, Problem>();

  constructor(source: SourceText) {
    this.source = source;
  }

  get size(): number {
    return this.problems.size;
  }

  add(range: Range, message: string, hint?: string): void {
    const key = `${range[0]} ${message}`;
    if (this.size >= MAX_PROBLEMS || this.problems.has(key)) return;
    this.problems.set(key, {
      source: this.source.name,
      ...positionAt(this.source, range[0]),
      message,
      ...(hint !== undefined && { hint }),
      excerpt: formatExcerpt(this.source, range),
      ...(range[1] > range[0] && { length: range[1] - range[0] }),
    });
  }

  /** The problems by line and column. */
  sorted(): Problem[] {
    return [...this.problems.values()].sort((one, other) => one.line - other.line || one.column - other.column);
  }
}

/** More than a screen shows: the heading has scrolled away. */
const MANY_PROBLEMS = 5;

function formatProblem({ source, line, column, message, hint, excerpt: lines }: Problem): string {
  return [`${source}:${line}:${column}: ${message}`, lines, ...(hint === undefined ? [] : [`  hint: ${hint}`])].join(
    '\n',
  );
}

/**
 * The error that shows every problem with its place and its source line.
 * @param consequence what the mistakes prevented
 * @param limit of how many problems the search stopped
 */
export function problemsError(
  problems: readonly Problem[],
  consequence = 'nothing was sent',
  limit: number = MAX_PROBLEMS,
): InputError {
  const number = `${problems.length < limit ? '' : 'at least '}${problems.length}`;
  const count = problems.length === 1 ? '' : `: ${number} mistakes`;
  return new InputError(`Invalid input${count}; ${consequence}.`, {
    why: problems.map(formatProblem).join('\n\n'),
    ...(problems.length > MANY_PROBLEMS && { hint: `Correct all of the ${problems.length} mistakes above.` }),
    details: { problems },
  });
}
