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

/** Joins a message and its reason to one line. A reason that is only a clause follows the message after a colon. */
function joinReason(message: string, why: string | undefined): string {
  if (why === undefined) return message;
  const isSentence = !/^[a-z]/.test(why);
  const reason = `${why.replaceAll('\n', ' ')}${/[.!?]$/.test(why) ? '' : '.'}`;
  return isSentence ? `${message} ${reason}` : `${message.replace(/\.$/, '')}: ${reason}`;
}

/** A check that ended with an error. @param hint replaces the hint of the error */
export function failed(name: string, error: PartnerctlError, hint = error.info.hint ?? null): Check {
  const { message, info } = error;
  return { name, status: 'failed', message: joinReason(message, info.why), hint, failure: error };
}

/** A check that failed without an error being thrown. */
export function broken(name: string, message: string, hint: string): Check {
  return failed(name, new LocalError(message), hint);
}
