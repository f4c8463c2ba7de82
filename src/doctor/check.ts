import { LocalError, type PartnerctlError } from '../errors.ts';
import { joinSentences } from '../output/sentences.ts';

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

/** A check that was not done. @param message says why */
export function skipped(name: string, message: string): Check {
  return { name, status: 'skipped', message, hint: null };
}

/** A check that found a problem which does not stop commands. */
export function warning(name: string, message: string, hint: string): Check {
  return { name, status: 'warning', message, hint };
}

/** Joins a message and its reason on one line. A reason that is only a clause follows a colon. */
function joinReason(message: string, why: string | undefined): string {
  if (why === undefined) return message;
  const isSentence = !/^[a-z]/.test(why);
  const reason = `${joinSentences(why)}${/[.!?]$/.test(why) ? '' : '.'}`;
  return isSentence ? `${message} ${reason}` : `${message.replace(/\.$/, '')}: ${reason}`;
}

/** A check that failed with an error. @param hint replaces the error's hint */
export function failed(name: string, error: PartnerctlError, hint = error.info.hint ?? null): Check {
  const { message, info } = error;
  return { name, status: 'failed', message: joinReason(message, info.why), hint, failure: error };
}

/** A check that failed without an error of its own. */
export function broken(name: string, message: string, hint: string): Check {
  return failed(name, new LocalError(message), hint);
}
