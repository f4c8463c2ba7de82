import {
  type ExitCode,
  InterruptedError,
  isBalanceTooLow,
  LocalError,
  OutcomeUnknownError,
  PartialFailure,
  PartnerctlError,
  RunFailure,
} from '../errors.ts';
import { type Column, type ListOptions, type ListResult, listResult, type ReportLine } from './command-result.ts';
import { describeError } from './error-text.ts';

/** Counts results by status. @param none a zero for each status, in the order to show */
export function countByStatus<Status extends string>(
  results: readonly { readonly status: Status }[],
  none: Readonly<Record<Status, number>>,
): Record<Status, number> {
  const counts: Record<Status, number> = { ...none };
  for (const { status } of results) counts[status] += 1;
  return counts;
}

/** Formats the counts that are not zero as a sentence: `2 created, 1 not sent.` @returns '' if all are zero */
function formatCounts(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  const text = parts.map(([status, count]) => `${count} ${status.replace('_', ' ')}`).join(', ');
  return text && `${text}.`;
}

/** The status for people: `interrupted`, not `failed`, for an item that Ctrl-C stopped. */
export function endedAs(status: string, error: unknown): string {
  return error instanceof InterruptedError ? 'interrupted' : status;
}

/** An item that a command processes, and its outcome. */
interface BatchItem {
  /** Identifies the item in the user's input. */
  readonly label: string;
  readonly outcome: 'done' | 'failed' | 'skipped';
  readonly error?: unknown;
}

/** How the results of a batch are shown, and what they mean for the command. */
export interface Batch<Result> extends Pick<ListOptions<Result>, 'empty' | 'ci'> {
  /** What to call the items, in the plural: `documents`. */
  readonly noun: string;
  /** What to do if not all items are done. */
  readonly again: string;
  /** How many items have which outcome, in the order to show. */
  readonly counts: (results: readonly Result[]) => Readonly<Record<string, number>>;
  /** The outcome of all items as text; by default, the counts. */
  readonly summary?: (results: readonly Result[]) => string;
  readonly item: (result: Result) => BatchItem;
  readonly json: (result: Result) => unknown;
  /** The exit code if there is no failure. */
  readonly exitCode?: (results: readonly Result[]) => ExitCode;
  /** Combines all results, in input order, into one JSON document; an array by default. */
  readonly document?: (results: readonly Result[]) => unknown;
  /** What people see instead of a table and the counts. Receives all results in input order. */
  readonly report?: (results: readonly Result[]) => readonly ReportLine[];
}

function summaryOf<Result>(
  results: readonly Result[],
  { summary, counts }: Pick<Batch<Result>, 'summary' | 'counts'>,
): string {
  return summary?.(results) ?? formatCounts(counts(results));
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
  const { empty, ci, json, exitCode, document, report } = batch;
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
    ci,
    json,
    sortIndex: ({ index }) => index,
    document: () => (document ? document(inOrder()) : inOrder().map(json)),
    summary: () => summaryOf(completed, batch),
    failure: () => failureOfBatch(inOrder(), batch, interrupt),
    ...(exitCode && { exitCode: () => exitCode(completed) }),
    ...(report && { report: () => report(inOrder()) }),
  });
}

/**
 * Returns the error of a command that processes several items: interrupted, balance too low (402), partial failure, or,
 * if no item is done, a failure with the type of the first unknown outcome, else of the first failed item.
 * @returns undefined if all items are done
 */
export function failureOfBatch<Result>(
  results: readonly Result[],
  batch: Pick<Batch<Result>, 'item' | 'noun' | 'again' | 'counts' | 'summary'>,
  { reason }: AbortSignal,
): PartnerctlError | undefined {
  const items = results.map(batch.item);
  const failed = items.filter(({ outcome }) => outcome === 'failed');
  const [first] = failed;
  // The error of a single item is more specific than the message below.
  const isSpecific = first?.error instanceof PartnerctlError && !(first.error instanceof InterruptedError);
  if (items.length === 1 && isSpecific) return first.error;
  const hint = nextSteps(batch.again, failed);
  if (reason instanceof InterruptedError && items.some(({ outcome }) => outcome !== 'done')) {
    return new InterruptedError(`Interrupted. ${summaryOf(results, batch)}`, reason.exitCode, { hint });
  }
  if (!first) return undefined;
  const message = `${failed.length} of ${items.length} ${batch.noun} failed.`;
  const info = { why: formatFailures(failed), hint, details: batch.counts(results) };
  // An unknown outcome needs action even after a top-up of the balance: it comes first.
  const unknown = failed.find(isOutcomeUnknown)?.error;
  const balance = failed.map(({ error }) => error).find(isBalanceTooLow);
  const isAnyDone = items.some(({ outcome }) => outcome === 'done');
  if (isAnyDone && (unknown || !balance)) return new PartialFailure(message, info);
  const decisive = unknown ?? balance ?? first.error;
  const isExpected = decisive instanceof PartnerctlError;
  return new RunFailure(message, isExpected ? decisive : new LocalError(message, { cause: decisive }), info);
}

const MAX_NAMED_FAILURES = 10;

function formatFailures(failed: readonly BatchItem[]): string {
  const lines = failed.slice(0, MAX_NAMED_FAILURES).map(({ label, error }) => {
    const text = describeError(error);
    return text.startsWith(label) ? text : `${label}: ${text}`;
  });
  if (failed.length > MAX_NAMED_FAILURES) lines.push(`and ${failed.length - MAX_NAMED_FAILURES} more`);
  return lines.join('\n');
}

function isOutcomeUnknown({ error }: BatchItem): boolean {
  return error instanceof OutcomeUnknownError;
}

/** The hint that all failures share, then `again`, then the hints for unknown outcomes, which no other run resolves. */
function nextSteps(again: string, failed: readonly BatchItem[]): string {
  const hintsOf = (items: readonly BatchItem[]) =>
    new Set(items.map(({ error }) => (error instanceof PartnerctlError ? error.info.hint : undefined)));
  const shared = hintsOf(failed.filter((item) => !isOutcomeUnknown(item)));
  const steps = [...(shared.size === 1 ? shared : []), again, ...hintsOf(failed.filter(isOutcomeUnknown))];
  return steps.filter((step) => step !== undefined).join('\n');
}
