import type { PartnerctlError } from '../errors.ts';
import { type CiView, type Column, type ListResult, listResult, type ReportLine } from './command-result.ts';

/** Counts results by status. @param none a zero for each status, in the order to show */
export function countByStatus<Status extends string>(
  results: readonly { readonly status: Status }[],
  none: Readonly<Record<Status, number>>,
): Record<Status, number> {
  const counts: Record<Status, number> = { ...none };
  for (const { status } of results) counts[status] += 1;
  return counts;
}

/** Formats the counts that are not zero as a sentence: `2 created, 1 failed.` */
export function formatCounts(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  // `exists` is the only status that has a plural.
  const inflect = (status: string, count: number) => (status === 'exists' && count > 1 ? 'exist' : status);
  return `${parts.map(([status, count]) => `${count} ${inflect(status, count)}`).join(', ')}.`;
}

/** How to show the results of a batch. Functions that take all results run after the last result. */
export interface BatchOptions<Result> {
  /** The notice to show if there are no results. */
  readonly empty: string;
  /** Converts a result to its JSON form. */
  readonly json: (result: Result) => unknown;
  /** Combines all results, in input order, into one JSON document; an array by default. */
  readonly document?: (results: readonly Result[]) => unknown;
  /** What people see instead of a table and the summary. Receives all results in input order. */
  readonly report?: (results: readonly Result[]) => readonly ReportLine[];
  /** Receives the results in order of completion. */
  readonly summary: (results: readonly Result[]) => string;
  /** Receives the results in order of completion. */
  readonly failure: (results: readonly Result[]) => PartnerctlError | undefined;
  readonly ci?: CiView<Result>;
}

/**
 * Builds the result of a command that processes several items. Streaming formats show rows in order of completion;
 * documents and tables show them in input order.
 * @param results the results; `index` is the position in the input
 */
export function batchResult<Result extends { readonly index: number }>(
  results: AsyncIterable<Result>,
  columns: readonly Column<Result>[],
  { empty, json, document = (all) => all.map(json), report, summary, failure, ci }: BatchOptions<Result>,
): ListResult {
  const completed: Result[] = [];
  async function* collect(): AsyncGenerator<Result> {
    for await (const result of results) {
      completed.push(result);
      yield result;
    }
  }
  const inOrder = () => completed.toSorted((a, b) => a.index - b.index);
  return listResult(collect(), columns, {
    empty,
    json,
    sortIndex: ({ index }) => index,
    document: () => document(inOrder()),
    ...(report && { report: () => report(inOrder()) }),
    summary: () => summary(completed),
    failure: () => failure(completed),
    ...(ci && { ci }),
  });
}
