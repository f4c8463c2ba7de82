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

/** One line for a message and its reason; a reason that is no sentence of its own completes that of the message. */
function joinReason(message: string, why: string | undefined): string {
  if (why === undefined) return message;
  const isSentence = !/^[a-z]/.test(why);
  const reason = `${why.replaceAll('\n', ' ')}${/[.!?]$/.test(why) ? '' : '.'}`;
  return isSentence ? `${message} ${reason}` : `${message.replace(/\.$/, '')}: ${reason}`;
}

/** @param hint replaces that of the error */
export function failed(name: string, error: PartnerctlError, hint = error.info.hint ?? null): Check {
  const { message, info } = error;
  return { name, status: 'failed', message: joinReason(message, info.why), hint, failure: error };
}

/** A failed check without an error of its own. */
export function broken(name: string, message: string, hint: string): Check {
  return failed(name, new LocalError(message), hint);
}
