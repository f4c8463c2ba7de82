import {
  InterruptedError,
  isBalanceTooLow,
  isRateLimited,
  LocalError,
  OutcomeUnknownError,
  PartialFailure,
  PartnerctlError,
  RunFailure,
  toErrorObject,
} from '../errors.ts';

/** One of several things that a command was to do. */
export interface BatchItem {
  /** How a person finds it in the input. */
  readonly label: string;
  readonly outcome: 'done' | 'failed' | 'skipped';
  readonly error?: unknown;
}

export interface BatchMessages {
  /** What the items are, in the plural: `documents`. */
  readonly noun: string;
  /** What to say in place of how many failed, where that would not be the truth. */
  readonly message?: string | undefined;
  /** What became of all of them, in words. */
  readonly summary: string;
  /** The same for scripts. */
  readonly details: unknown;
  /** What to do next, after an interruption and after failures. */
  readonly resumeHint: string;
  readonly fixHint: string;
}

const NAMED_FAILURES = 10;

function failureLine({ label, error }: BatchItem): string {
  const why = error instanceof PartnerctlError ? error.info.why : undefined;
  const { message, status, request_id: id } = toErrorObject(error);
  const reason = why?.replaceAll(/\.?\n/g, '; ');
  const sentence = message.endsWith('.') ? reason?.replace(/^./, (first) => first.toUpperCase()) : reason;
  const said = sentence === undefined ? '' : ` ${sentence}`;
  // Whoever answered can look it up by that.
  const request = status === null || id === null ? '' : ` (request id ${id})`;
  return `${message.startsWith(label) ? message : `${label}: ${message}`}${said}${request}`;
}

function failureLines(failed: readonly BatchItem[]): string {
  const lines = failed.slice(0, NAMED_FAILURES).map(failureLine);
  if (failed.length > NAMED_FAILURES) lines.push(`and ${failed.length - NAMED_FAILURES} more`);
  return lines.join('\n');
}

function hintOf({ error }: BatchItem): string | undefined {
  return error instanceof PartnerctlError ? error.info.hint : undefined;
}

/**
 * What to do next. What all failures advise comes first; running it again alone does not settle what may have been done.
 * @param advice undefined where nothing is left but such open ends
 */
function nextSteps(advice: string | undefined, failed: readonly BatchItem[]): string {
  const open = failed.filter(isOpen);
  const ended = failed.filter((item) => !open.includes(item));
  // Of a rate limit each says a moment of its own; the last one is when all of them can go on.
  const isLimited = ended.every(({ error }) => isRateLimited(error));
  const hints = [...new Set(ended.map(hintOf))].sort();
  const shared = isLimited || hints.length === 1 ? hints.slice(-1) : [];
  const steps = [...shared, advice, ...new Set(open.map(hintOf))];
  return steps.filter((step) => step !== undefined).join('\n');
}

function isOpen({ error }: BatchItem): boolean {
  return error instanceof OutcomeUnknownError;
}

/** The moment from which all that was refused for a rate can be repeated. */
function retryAtOf(failed: readonly BatchItem[]): { retryAt?: string } {
  const moments = failed.flatMap(({ error }) => (error instanceof PartnerctlError ? (error.info.retryAt ?? []) : []));
  const last = moments.sort().at(-1);
  return last === undefined ? {} : { retryAt: last };
}

/**
 * How a command ends that did not do all of several things: interrupted; 402, which stops everything; some failed
 * (partial); or none was done: then what may have been done all the same, and else the first failure, decides.
 * @param interruption the reason of the interrupt signal, where it was given
 * @returns undefined when everything is as it should be
 */
export function batchFailure(
  items: readonly BatchItem[],
  { noun, message: said, summary, details, resumeHint: goOn, fixHint: mend }: BatchMessages,
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
  if (isOnlyOne && first.error instanceof PartnerctlError) return first.error;
  const others = failed.filter(({ error }) => !isBalanceTooLow(error));
  const broke = failed.find(({ error }) => isBalanceTooLow(error))?.error;
  const isAnyDone = items.some(({ outcome }) => outcome === 'done');
  if (isBalanceTooLow(broke) && others.length === 0 && !isAnyDone) return broke;
  const open = failed.find(isOpen);
  const isLeft = items.some(({ outcome }) => outcome === 'skipped') || !failed.every(isOpen);
  const facts = {
    why: failureLines(failed),
    hint: nextSteps(isLeft ? mend : undefined, failed),
    details,
    ...retryAtOf(failed),
  };
  const message = said ?? `${failed.length} of ${items.length} ${noun} failed.`;
  // It is the answer to everything, also where some was done before; but not to what may have been done.
  if (isBalanceTooLow(broke) && !open) {
    const why = others.length === 0 ? undefined : failureLines(others);
    return new RunFailure(`${broke.message} ${message}`, broke, { ...facts, why });
  }
  if (isAnyDone) return new PartialFailure(message, facts);
  const { error } = open ?? first;
  // Anything but a failure that the program foresees is a mistake of its own, and exits like one.
  const foreseen = error instanceof PartnerctlError ? error : new LocalError(message, { cause: error });
  return new RunFailure(message, foreseen, facts);
}
