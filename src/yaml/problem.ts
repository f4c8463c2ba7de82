import { LineCounter } from 'yaml';
import { InputError } from '../errors.ts';
import { groupBy } from '../platform/group-by.ts';
import { printable } from './text.ts';

/** A row of a table, whose columns are the names of variables. */
export interface Row {
  /** File and line: `customers.csv:17`. */
  readonly place: string;
  /** In the order of the columns. */
  readonly values: readonly string[];
}

export interface YamlSource {
  /** As shown to people: `acme.yaml`, `<stdin>`. */
  readonly name: string;
  readonly text: string;
  /** The row that the source is read with, if it is read once for each row of a table. */
  readonly row?: Row;
}

/** Start and end offsets in a source text, in UTF-16 units. */
export type Range = readonly [start: number, end: number];

/** A mistake in a source, ready to be shown. */
export interface Problem {
  readonly source: string;
  /** The place of the row that the source was read with: `customers.csv:17`. */
  readonly row?: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  readonly message: string;
  readonly hint?: string;
  /** The source line with its number, and a line of carets below it; safe for a terminal. */
  readonly excerpt: string;
}

/** More than a person corrects before the next run. */
const MAX_PROBLEMS = 1_000;

/** A mistake in more rows than this is one of the source itself, and is shown once. */
const MAX_ROWS = 20;

/** With its indentation, the number of the line, and an ellipsis at each end, an excerpt fits into 80 columns. */
const MAX_EXCERPT_WIDTH = 69;
const MAX_BEFORE_CARET = 40;

/** A source, and the problems in it, each one once. */
export class ProblemList {
  readonly name: string;
  /** Without a byte order mark. */
  readonly text: string;
  readonly row: Row | undefined;
  private readonly lines = new LineCounter();
  private readonly problems = new Map<string, Problem>();

  constructor({ name, text, row }: YamlSource) {
    this.name = name;
    this.row = row;
    this.text = text.replace(/^\uFEFF/, '');
    this.lines.addNewLine(0);
    for (const { index } of this.text.matchAll(/\n/g)) this.lines.addNewLine(index + 1);
  }

  get size(): number {
    return this.problems.size;
  }

  add(range: Range, message: string, hint?: string): void {
    const key = `${range[0]} ${message}`;
    if (this.size >= MAX_PROBLEMS || this.problems.has(key)) return;
    const excerpt = this.excerpt(range);
    const row = this.row && { row: this.row.place };
    const place = { source: this.name, ...row, ...this.positionAt(range[0]) };
    this.problems.set(key, { ...place, message, ...(hint !== undefined && { hint }), excerpt });
  }

  /** Line and column of an offset, both from 1; the column in UTF-16 units, as editors count. */
  positionAt(offset: number): { line: number; column: number } {
    const { line, col } = this.lines.linePos(offset);
    return { line, column: col };
  }

  /** The start of a line, to report a problem with the whole of it. */
  startOf(line: number): Range {
    const start = this.lines.lineStarts[line - 1] ?? 0;
    return [start, start];
  }

  sorted(): Problem[] {
    return [...this.problems.values()].sort((one, other) => one.line - other.line || one.column - other.column);
  }

  /** The source line of a range with its number, clipped around a line of carets under the range's part of it. */
  private excerpt([start, end]: Range): string {
    const { line, column } = this.positionAt(start);
    const [written = ''] = /^[^\r\n]*/.exec(this.text.slice(start - column + 1)) ?? [];
    const at = Math.min(column - 1, written.length);
    const from = Math.max(0, at - MAX_BEFORE_CARET);
    const to = from + MAX_EXCERPT_WIDTH;
    const before = `${from > 0 ? '…' : ''}${printable(written.slice(from, at))}`;
    const after = `${printable(written.slice(at, to))}${to < written.length ? '…' : ''}`;
    const underlined = printable(written.slice(at, Math.min(to, at + end - start)));
    const number = String(line).padStart(4);
    const carets = '^'.repeat(Math.max(1, underlined.length));
    return `${number} | ${before}${after}\n${' '.repeat(number.length)} | ${' '.repeat(before.length)}${carets}`;
  }
}

/** A place in a source, and the row that the source was read with: `support.yaml:3 (customers.csv:17)`. */
export function withRow(place: string, row: string | undefined): string {
  return row === undefined ? place : `${place} (${row})`;
}

/** Replaces a mistake that is the same in many rows by that of the first one, which counts the others. */
export function foldRows(problems: readonly Problem[]): Problem[] {
  const key = ({ source, line, column, message }: Problem) => JSON.stringify([source, line, column, message]);
  return [...groupBy(problems, key).values()].flatMap((same) => {
    const [first] = same;
    if (first?.row === undefined || same.length <= MAX_ROWS) return same;
    return [{ ...first, row: `${first.row} and ${same.length - 1} more rows` }];
  });
}

function formatProblem({ source, row, line, column, message, hint, excerpt }: Problem): string {
  const advice = hint === undefined ? '' : `\n  hint: ${hint}`;
  return `${withRow(`${source}:${line}:${column}`, row)}: ${message}\n${excerpt}${advice}`;
}

/** The error that shows every problem with its place and its source line. */
export function problemsError(problems: readonly Problem[]): InputError {
  const count = problems.length === 1 ? '' : `: ${problems.length} mistakes`;
  return new InputError(`Invalid input${count}; nothing was sent.`, {
    why: problems.map(formatProblem).join('\n\n'),
    // Above a long list, the heading has scrolled away.
    ...(problems.length > 5 && { hint: `Correct all of the ${problems.length} mistakes above.` }),
    details: { problems },
  });
}
