import { LocalError, type PartnerctlError } from '../errors.ts';

export type CheckStatus = 'ok' | 'warning' | 'failed' | 'skipped';

/** One thing that was checked. */
export interface Check {
  readonly name: string;
  readonly status: CheckStatus;
  /** What was found. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string | null;
  /** The error that a command would end with; only of a failed check. */
  readonly failure?: PartnerctlError;
}

export function ok(name: string, message: string): Check {
  return { name, status: 'ok', message, hint: null };
}

export function skipped(name: string, message: string): Check {
  return { name, status: 'skipped', message, hint: null };
}

export function warning(name: string, message: string, hint: string): Check {
  return { name, status: 'warning', message, hint };
}

/** @param hint replaces that of the error */
export function failed(name: string, error: PartnerctlError, hint = error.info.hint ?? null): Check {
  const { message, info } = error;
  const why = info.why === undefined ? '' : ` ${info.why.replaceAll('\n', ' ')}${/[.!?]$/.test(info.why) ? '' : '.'}`;
  return { name, status: 'failed', message: `${message}${why}`, hint, failure: error };
}

/** A failed check without an error of its own. */
export function broken(name: string, message: string, hint: string): Check {
  return failed(name, new LocalError(message), hint);
}
