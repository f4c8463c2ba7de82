import {
  EXIT,
  InterruptedError,
  isBalanceTooLow,
  LocalError,
  OutcomeUnknownError,
  PartialFailure,
  PartnerctlError,
  PlanStaleError,
  RunFailure,
} from '../errors.ts';
import { type BatchItem, type Column, type ListResult, listResult, type ReportLine } from './command-result.ts';
import { describeError } from './error-text.ts';

/** Counts results by status. @param statuses in the order to show */
export function countByStatus<Status extends string>(
  results: readonly { readonly status: Status }[],
  statuses: Readonly<Record<Status, unknown>>,
): Record<Status, number> {
  const counts: Record<string, number> = {};
  for (const status of Object.keys(statuses)) counts[status] = 0;
  for (const { status } of results) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Formats the counts that are not zero as a sentence: `2 created, 1 not sent.` @returns '' if all are zero */
function formatCounts(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  const text = parts.map(([status, count]) => `${count} ${status.replace('_', ' ')}`).join(', ');
  return text && `${text}.`;
}

/** How the results of a batch are shown, and what they mean for the command. */
export interface Batch<Result> {
  /** What to call the items, in the plural: `documents`. */
  readonly noun: string;
  /** What to do if not all items are done. */
  readonly again?: string | undefined;
  /** Of a table, or only of tsv if there is a report. */
  readonly columns?: readonly Column<Result>[];
  readonly item: (result: Result) => BatchItem;
  readonly json: (result: Result) => unknown;
  /** Which of the failures decides the exit code, also if other items are done; by default, see `failureOfBatch`. */
  readonly decisive?: (errors: readonly PartnerctlError[]) => PartnerctlError | undefined;
  /** How many items have which outcome, in the order to show. */
  readonly counts: (results: readonly Result[]) => Readonly<Record<string, number>>;
  /** The outcome of all items as text; by default, the counts. */
  readonly summary?: (results: readonly Result[]) => string;
  /** The field for the results in a JSON document that also has the counts; by default, the document is an array. */
  readonly documentField?: string;
  /** What people see instead of a table and the counts. Receives all results in input order. */
  readonly report?: (results: readonly Result[]) => readonly ReportLine[];
}

function summaryOf<Result>(results: readonly Result[], { summary, counts }: Batch<Result>): string {
  return summary?.(results) ?? formatCounts(counts(results));
}

/**
 * Builds the result of a command that processes several items. Streaming formats show rows in order of completion;
 * documents and tables show them in input order.
 * @param results the results; `index` is the position in the input
 * @param onResult called after each of them, with their number so far
 */
export function batchResult<Result extends { readonly index: number }>(
  results: AsyncIterable<Result> | Iterable<Result>,
  batch: Batch<Result>,
  { interrupt }: { readonly interrupt: AbortSignal },
  onResult?: (done: number) => void,
): ListResult {
  const { noun, columns = [], item, json, counts, documentField, report } = batch;
  const completed: Result[] = [];
  async function* collect(): AsyncGenerator<Result> {
    for await (const result of results) {
      completed.push(result);
      onResult?.(completed.length);
      yield result;
    }
  }
  const inOrder = () => completed.toSorted((a, b) => a.index - b.index);
  return listResult(collect(), columns, {
    empty: `There are no ${noun}.`,
    ci: () => inOrder().map(item),
    json,
    sortIndex: ({ index }) => index,
    document() {
      const documents = inOrder().map(json);
      return documentField === undefined ? documents : { [documentField]: documents, summary: counts(completed) };
    },
    summary: () => summaryOf(completed, batch),
    failure: (isOnScreen) => failureOfBatch(inOrder(), batch, interrupt, isOnScreen),
    ...(report && { report: () => report(inOrder()) }),
  });
}

/**
 * Returns the error of a command that processes several items: interrupted, balance too low (402), partial failure, or,
 * if no item is done, a failure with the type of the first unknown outcome, else of the first failed item.
 * @param isOnScreen whether the results stand above the error in a terminal: there, a report and notes have the reasons
 * @returns undefined if all items are done
 */
export function failureOfBatch<Result>(
  results: readonly Result[],
  batch: Batch<Result>,
  { reason }: AbortSignal,
  isOnScreen = false,
): PartnerctlError | undefined {
  const hasReport = isOnScreen && batch.report !== undefined;
  const isReported = hasReport || (isOnScreen && batch.columns?.some(({ isNote }) => isNote) === true);
  const items = results.map(batch.item);
  const started = items.filter(({ isUnfinished }) => !isUnfinished);
  const done = started.filter(({ error }) => error === undefined);
  const withError = started.filter(({ error }) => error !== undefined);
  const failed = withError.filter(({ error }) => !(error instanceof InterruptedError));
  const [first] = failed;
  // The error of a single item is more specific than the message below.
  if (items.length === 1 && !isReported && first?.error instanceof PartnerctlError) return first.error;
  const isStuck = ({ error }: BatchItem) =>
    error instanceof OutcomeUnknownError || error instanceof PlanStaleError || isDecidedByPerson(error);
  const canRepeat = done.length + withError.filter(isStuck).length < items.length;
  // The report of what cannot be repeated, a plan, has the hints, too.
  const hasHints = hasReport && batch.again === undefined;
  const hint = hasHints ? undefined : nextSteps(canRepeat ? batch.again : undefined, withError);
  if (reason instanceof InterruptedError && done.length < items.length) {
    return new InterruptedError(`Interrupted. ${summaryOf(results, batch)}`, reason.exitCode, { hint });
  }
  if (!first) return undefined;
  const message = `${failed.length} of ${items.length} ${batch.noun} failed.`;
  const why = isReported ? undefined : formatFailures(failed);
  const info = { why, hint, details: batch.counts(results) };
  const chosen = batch.decisive?.(failed.flatMap(({ error }) => (error instanceof PartnerctlError ? [error] : [])));
  if (chosen) return new RunFailure(message, chosen, info);
  // An unknown outcome needs action even after a top-up of the balance: it comes first.
  const unknown = failed.find(isOutcomeUnknown)?.error;
  const balance = failed.map(({ error }) => error).find(isBalanceTooLow);
  if (done.length > 0 && (unknown || !balance)) return new PartialFailure(message, info);
  const decisive = unknown ?? balance ?? first.error;
  const isExpected = decisive instanceof PartnerctlError;
  return new RunFailure(message, isExpected ? decisive : new LocalError(message, { cause: decisive }), info);
}

/** Whether a repeat fails the same way until somebody has changed a file, or consented. */
function isDecidedByPerson(error: unknown): boolean {
  if (!(error instanceof PartnerctlError)) return false;
  return error.type === 'refused' || error.exitCode === EXIT.duplicate || error.exitCode === EXIT.usage;
}

const MAX_NAMED_FAILURES = 10;

function formatFailures(failed: readonly BatchItem[]): string {
  const lines = failed.slice(0, MAX_NAMED_FAILURES).map(({ name, source: whole, error, failures }) => {
    const source = failures?.[0]?.source ?? whole;
    const label = source === undefined ? name : `${source} (${name})`;
    const text = describeError(error);
    return text.startsWith(label) ? text : `${label}: ${text}`;
  });
  if (failed.length > MAX_NAMED_FAILURES) lines.push(`and ${failed.length - MAX_NAMED_FAILURES} more`);
  return lines.join('\n');
}

function isOutcomeUnknown({ error }: BatchItem): boolean {
  return error instanceof OutcomeUnknownError;
}

const MAX_HINTS = 3;

/**
 * The hint that all failures share, then `again`, then the hints for unknown outcomes, which no other run resolves. Where
 * that is nothing, the hints of the failures, which differ.
 */
function nextSteps(again: string | undefined, failed: readonly BatchItem[]): string | undefined {
  const hintsOf = (items: readonly BatchItem[]) =>
    new Set(items.map(({ error }) => (error instanceof PartnerctlError ? error.info.hint : undefined)));
  const shared = hintsOf(failed.filter((item) => !isOutcomeUnknown(item)));
  const isStep = (step: string | undefined) => step !== undefined;
  const all = [...(shared.size === 1 ? shared : []), again, ...hintsOf(failed.filter(isOutcomeUnknown))];
  const steps = all.filter(isStep);
  return (steps.length > 0 ? steps : [...shared].filter(isStep).slice(0, MAX_HINTS)).join('\n') || undefined;
}
