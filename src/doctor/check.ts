import { type PartnerctlError, RunFailure } from '../errors.ts';

export type CheckStatus = 'ok' | 'warning' | 'failed' | 'skipped';

/** The result of one check. */
export interface Check {
  readonly name: string;
  readonly status: CheckStatus;
  /** What was found. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string | null;
  /** The error that a command would end with; only for a failed check. */
  readonly failure?: PartnerctlError;
}

/** A check that passed. */
export function ok(name: string, message: string): Check {
  return { name, status: 'ok', message, hint: null };
}

/** A check that was not done: an earlier one failed, or no response shows it. */
export function skipped(name: string): Check {
  return { name, status: 'skipped', message: 'not checked', hint: null };
}

/** A check that found a problem which does not stop commands. */
export function warning(name: string, message: string, hint: string | undefined): Check {
  return { name, status: 'warning', message, hint: hint ?? null };
}

/** A check that failed with an error. @param hint replaces the error's hint */
export function failed(name: string, error: PartnerctlError, hint = error.info.hint): Check {
  return { name, status: 'failed', message: error.message, hint: hint ?? null, failure: error };
}

/** Returns the error to exit with, by the first failed check; undefined if none failed. */
export function failureOf(checks: readonly Check[]): PartnerctlError | undefined {
  const failures = checks.filter(({ failure }) => failure !== undefined);
  const [first] = failures;
  if (!first?.failure) return undefined;
  const names = failures.map(({ name }) => name);
  return new RunFailure(`Failed checks: ${names.join(', ')}.`, first.failure, {
    why: first.failure.message,
    hint: first.hint ?? undefined,
    details: { failed: names },
    cause: first.failure,
  });
}
