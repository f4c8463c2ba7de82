import { type ExitCode, InterruptedError, type PartnerctlError } from '../errors.ts';
import { type BatchItem, type BatchMessages, batchFailure } from './batch-failure.ts';
import { type Column, type ListOptions, type ListResult, listResult, type ReportLine } from './command-result.ts';

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

/** The status for people: `interrupted`, not `failed`, for an item that Ctrl-C stopped. */
export function endedAs(status: string, error: unknown): string {
  return error instanceof InterruptedError ? 'interrupted' : status;
}

/** How the results of a batch are shown, and what they mean for the command. */
export interface Batch<Result> extends Pick<ListOptions<Result>, 'empty' | 'ci'> {
  readonly json: (result: Result) => unknown;
  /** The exit code if there is no failure. */
  readonly exitCode?: (results: readonly Result[]) => ExitCode;
  readonly item: (result: Result) => BatchItem;
  readonly messages: (results: readonly Result[]) => BatchMessages;
  /** Combines all results, in input order, into one JSON document; an array by default. */
  readonly document?: (results: readonly Result[]) => unknown;
  /** What people see instead of a table and the summary. Receives all results in input order. */
  readonly report?: (results: readonly Result[]) => readonly ReportLine[];
}

/** The error of a command that did not do all of a batch, if it did not. */
export function failureOfBatch<Result>(
  results: readonly Result[],
  { item, messages }: Pick<Batch<Result>, 'item' | 'messages'>,
  interrupt: AbortSignal,
): PartnerctlError | undefined {
  return batchFailure(results.map(item), messages(results), interrupt.reason);
}

/**
 * Builds the result of a command that processes several items. Streaming formats show rows in order of completion;
 * documents and tables show them in input order.
 * @param results the results; `index` is the position in the input
 */
export function batchResult<Result extends { readonly index: number }>(
  results: AsyncIterable<Result> | Iterable<Result>,
  columns: readonly Column<Result>[],
  batch: Batch<Result>,
  { interrupt }: { readonly interrupt: AbortSignal },
): ListResult {
  const { json, exitCode, item: _, messages, document, report, ...options } = batch;
  const completed: Result[] = [];
  async function* collect(): AsyncGenerator<Result> {
    for await (const result of results) {
      completed.push(result);
      yield result;
    }
  }
  const inOrder = () => completed.toSorted((a, b) => a.index - b.index);
  return listResult(collect(), columns, {
    ...options,
    json,
    sortIndex: ({ index }) => index,
    document: () => (document ? document(inOrder()) : inOrder().map(json)),
    summary: () => messages(completed).summary,
    failure: () => failureOfBatch(inOrder(), batch, interrupt),
    ...(exitCode && { exitCode: () => exitCode(completed) }),
    ...(report && { report: () => report(inOrder()) }),
  });
}
