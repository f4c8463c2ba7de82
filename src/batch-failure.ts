import {
  errorObject,
  InterruptedError,
  isBalanceTooLow,
  LocalError,
  OutcomeUnknownError,
  PartialFailure,
  PartnerctlError,
  RunFailure,
} from './errors.ts';

/** One of several things that a command was to do. */
export interface BatchItem {
  /** How a person finds it in the input. */
  readonly label: string;
  readonly outcome: 'done' | 'failed' | 'skipped';
  readonly error?: unknown;
}

export interface BatchWords {
  /** What the items are, in the plural: `documents`. */
  readonly noun: string;
  /** What became of all of them, in words. */
  readonly summary: string;
  /** The same for scripts. */
  readonly details: unknown;
  /** What to do next, after an interruption and after failures. */
  readonly goOn: string;
  readonly mend: string;
}

const NAMED_FAILURES = 10;

function failureLine({ label, error }: BatchItem): string {
  const why = error instanceof PartnerctlError ? error.facts.why : undefined;
  const said = why === undefined ? '' : ` ${why.replaceAll('\n', '; ')}`;
  return `${label}: ${errorObject(error).message}${said}`;
}

function failureLines(failed: readonly BatchItem[]): string {
  const lines = failed.slice(0, NAMED_FAILURES).map(failureLine);
  if (failed.length > NAMED_FAILURES) lines.push(`and ${failed.length - NAMED_FAILURES} more`);
  return lines.join('\n');
}

/** What to do next; running it again alone does not settle what may have been done. */
function nextSteps(advice: string, failed: readonly BatchItem[]): string {
  const errors = failed.map(({ error }) => error).filter((error) => error instanceof OutcomeUnknownError);
  const settle = errors.map(({ facts }) => facts.hint).filter((hint) => hint !== undefined);
  return [advice, ...new Set(settle)].join('\n');
}

/**
 * How a command ends that did not do all of several things: interrupted; 402, which stops everything; some failed
 * (partial); or all.
 * @param interruption the reason of the interrupt signal, where it was given
 * @returns undefined when everything is as it should be
 */
export function batchFailure(
  items: readonly BatchItem[],
  { noun, summary, details, goOn, mend }: BatchWords,
  interruption: unknown,
): PartnerctlError | undefined {
  const failed = items.filter(({ outcome }) => outcome === 'failed');
  const [first] = failed;
  const isOnlyOne = items.every((item) => item === first || item.outcome === 'skipped');
  // What became of a single thing says more than that it was interrupted.
  if (items.length === 1 && first?.error instanceof PartnerctlError) return first.error;
  const isWhole = items.every(({ outcome }) => outcome === 'done');
  if (interruption instanceof InterruptedError && !isWhole) {
    return new InterruptedError(`Interrupted: ${summary}`, interruption.exitCode, { hint: nextSteps(goOn, failed) });
  }
  if (!first) return undefined;
  const broke = failed.find(({ error }) => isBalanceTooLow(error))?.error;
  if (isBalanceTooLow(broke)) return broke;
  if (isOnlyOne && first.error instanceof PartnerctlError) return first.error;
  const facts = { why: failureLines(failed), hint: nextSteps(mend, failed), details };
  const message = `${failed.length} of ${items.length} ${noun} failed.`;
  if (items.some(({ outcome }) => outcome === 'done')) return new PartialFailure(message, facts);
  // Anything but a failure that the program foresees is a mistake of its own, and exits like one.
  const foreseen =
    first.error instanceof PartnerctlError ? first.error : new LocalError(message, { cause: first.error });
  return new RunFailure(message, foreseen, facts);
}
