import {
  InterruptedError,
  isBalanceTooLow,
  LocalError,
  OutcomeUnknownError,
  PartialFailure,
  PartnerctlError,
  RunFailure,
} from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';
import { withReason } from './sentences.ts';

/** An item that a command processes, and its outcome. */
export interface BatchItem {
  /** Identifies the item in the user's input. */
  readonly label: string;
  readonly outcome: 'done' | 'failed' | 'skipped';
  readonly error?: unknown;
}

export interface BatchMessages {
  /** What to call the items, in the plural: `documents`. */
  readonly noun: string;
  /** Replaces the default message, which counts the failures. */
  readonly message?: string | undefined;
  /** The outcome of all items as text. */
  readonly summary: string;
  /** The outcome of all items for scripts. */
  readonly details: unknown;
  /** What to do next after an interruption. */
  readonly resumeHint: string;
  /** What to do next after failures. */
  readonly fixHint: string;
}

const MAX_NAMED_FAILURES = 10;

function formatFailure({ label, error }: BatchItem): string {
  const text = withReason(errorMessage(error), error instanceof PartnerctlError ? error.info.why : undefined);
  return text.startsWith(label) ? text : `${label}: ${text}`;
}

function formatFailures(failed: readonly BatchItem[]): string {
  const lines = failed.slice(0, MAX_NAMED_FAILURES).map(formatFailure);
  if (failed.length > MAX_NAMED_FAILURES) lines.push(`and ${failed.length - MAX_NAMED_FAILURES} more`);
  return lines.join('\n');
}

function isOutcomeUnknown({ error }: BatchItem): boolean {
  return error instanceof OutcomeUnknownError;
}

/**
 * Combines hints: the one that all failures share, then `advice`, then those for unknown outcomes, which another run does
 * not resolve.
 * @param advice undefined if only unknown outcomes remain
 */
function nextSteps(advice: string | undefined, failed: readonly BatchItem[]): string {
  const hintsOf = (items: readonly BatchItem[]) =>
    new Set(items.map(({ error }) => (error instanceof PartnerctlError ? error.info.hint : undefined)));
  const shared = hintsOf(failed.filter((item) => !isOutcomeUnknown(item)));
  const steps = [...(shared.size === 1 ? shared : []), advice, ...hintsOf(failed.filter(isOutcomeUnknown))];
  return steps.filter((step) => step !== undefined).join('\n');
}

/** The failure of several items. An unknown outcome needs action even after a top-up of the balance: it comes first. */
function combineFailures(
  items: readonly BatchItem[],
  failed: readonly BatchItem[],
  { noun, details, fixHint, message = `${failed.length} of ${items.length} ${noun} failed.` }: BatchMessages,
): PartnerctlError {
  const unknown = failed.find(isOutcomeUnknown)?.error;
  const balance = failed.map(({ error }) => error).find(isBalanceTooLow);
  const canRunAgain = items.some(({ outcome }) => outcome === 'skipped') || !failed.every(isOutcomeUnknown);
  const times = failed.flatMap(({ error }) => (error instanceof PartnerctlError ? (error.info.retryAt ?? []) : []));
  const info = {
    why: formatFailures(failed),
    hint: nextSteps(canRunAgain ? fixHint : undefined, failed),
    details,
    // When all of them can be retried.
    retryAt: times.sort().at(-1),
  };
  const isAnyDone = items.some(({ outcome }) => outcome === 'done');
  if (isAnyDone && (unknown || !balance)) return new PartialFailure(message, info);
  const decisive = unknown ?? balance ?? failed[0]?.error;
  const isExpected = decisive instanceof PartnerctlError;
  return new RunFailure(message, isExpected ? decisive : new LocalError(message, { cause: decisive }), info);
}

/**
 * Returns the error of a command that processes several items: interrupted, balance too low (402), partial failure, or, if
 * no item is done, a failure with the type of the first unknown outcome, else of the first failed item.
 * @param interruption the reason of the interrupt signal, if the signal is aborted
 * @returns undefined if all items are done
 */
export function batchFailure(
  items: readonly BatchItem[],
  messages: BatchMessages,
  interruption: unknown,
): PartnerctlError | undefined {
  const failed = items.filter(({ outcome }) => outcome === 'failed');
  const [first] = failed;
  const isInterrupted = first?.error instanceof InterruptedError;
  // The error of a single item is more specific than "Interrupted".
  if (items.length === 1 && first?.error instanceof PartnerctlError && !isInterrupted) return first.error;
  if (interruption instanceof InterruptedError && items.some(({ outcome }) => outcome !== 'done')) {
    const hint = nextSteps(messages.resumeHint, failed);
    return new InterruptedError(`Interrupted. ${messages.summary}`, interruption.exitCode, { hint });
  }
  return first && combineFailures(items, failed, messages);
}
