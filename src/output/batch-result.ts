import type { PartnerctlError } from '../errors.ts';
import { type Column, type ListResult, listResult } from './command-result.ts';

/** How to show the results of a batch. The functions of all results are called after the last one. */
export interface BatchOptions<Result> {
  /** The notice if there are no results. */
  readonly empty: string;
  /** The JSON of a result. */
  readonly json: (result: Result) => unknown;
  /** The JSON document of all results in input order; an array by default. */
  readonly document?: (results: readonly Result[]) => unknown;
  /** Gets the results in the order of completion. */
  readonly summary: (results: readonly Result[]) => string;
  /** Gets the results in the order of completion. */
  readonly failure: (results: readonly Result[]) => PartnerctlError | undefined;
}

/**
 * Builds the result of a command that processes several items: rows appear as items complete, and are in input order in
 * documents and tables.
 * @param results each with its position in the input
 */
export function batchResult<Result extends { readonly index: number }>(
  results: AsyncIterable<Result>,
  columns: readonly Column<Result>[],
  { empty, json, document = (all) => all.map(json), summary, failure }: BatchOptions<Result>,
): ListResult {
  const completed: Result[] = [];
  async function* collect(): AsyncGenerator<Result> {
    for await (const result of results) {
      completed.push(result);
      yield result;
    }
  }
  return listResult(collect(), columns, {
    empty,
    json,
    sortIndex: ({ index }) => index,
    document: () => document(completed.toSorted((a, b) => a.index - b.index)),
    summary: () => summary(completed),
    failure: () => failure(completed),
  });
}
