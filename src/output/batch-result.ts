import type { PartnerctlError } from '../errors.ts';
import { type Column, type ListResult, listResult } from './command-result.ts';

/** How the results of several things are shown. What speaks of all of them is asked once they are through. */
export interface BatchOptions<Result> {
  /** Said where there is not a single result. */
  readonly empty: string;
  /** A result as scripts see it. */
  readonly json: (result: Result) => unknown;
  /** All of them as scripts see them, given in the order of the input; an array by default. */
  readonly document?: (results: readonly Result[]) => unknown;
  /** Given in the order in which they came, as are those of `failure`. */
  readonly summary: (results: readonly Result[]) => string;
  readonly failure: (results: readonly Result[]) => PartnerctlError | undefined;
}

/**
 * The answer of a command that does several things: each result is a row as it comes, and takes its place in the order of
 * the input where the answer is one document or a table.
 * @param results each with its place in the input
 */
export function batchResult<Result extends { readonly index: number }>(
  results: AsyncIterable<Result>,
  columns: readonly Column<Result>[],
  { empty, json, document = (all) => all.map(json), summary, failure }: BatchOptions<Result>,
): ListResult {
  const all: Result[] = [];
  async function* kept(): AsyncGenerator<Result> {
    for await (const result of results) {
      all.push(result);
      yield result;
    }
  }
  return listResult(kept(), columns, {
    empty,
    json,
    sortIndex: ({ index }) => index,
    document: () => document(all.toSorted((a, b) => a.index - b.index)),
    summary: () => summary(all),
    failure: () => failure(all),
  });
}
