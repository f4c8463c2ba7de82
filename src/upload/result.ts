import type { UploadKind } from '../contract/resources.ts';
import { OutcomeUnknownError, PartnerctlError, RunFailure, unrecordedError } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';

export interface UploadResult {
  readonly index: number;
  readonly file: string;
  readonly as: UploadKind;
  readonly id: string | null;
  readonly bytes: number;
  /** Null if the file could not be read. */
  readonly sha256: string | null;
  /** `skipped`: it was uploaded before. `planned`: with --dry-run, it would be uploaded. */
  readonly status: 'uploaded' | 'skipped' | 'planned' | 'unknown' | 'failed';
  /** Why it failed or is unknown, or why the id of an uploaded file could not be recorded. */
  readonly error: unknown;
}

export type Outcome = Pick<UploadResult, 'status'> & Partial<Pick<UploadResult, 'id' | 'error'>>;

/** A file that was not started, because every further request would have failed as an earlier one did: 401 or 402. */
export class NotStarted extends RunFailure {
  constructor(reason: PartnerctlError) {
    super(`It was not started. ${reason.message}`, reason, { details: null });
  }
}

const RETRY =
  'Check at the service whether the file exists. If not, run the command again with --retry-unknown, which may create it twice.';

/** The error of a file whose upload by another run has no outcome. @param open its reservations */
export function openError(file: string, open: readonly { readonly at: string }[]): OutcomeUnknownError {
  const since = open.map(({ at }) => at).join(' and ');
  return new OutcomeUnknownError(`${file} may have been uploaded by another run.`, {
    why: `It reserved the file at ${since}, and recorded no outcome: it was killed, is still running, or got no response.`,
    hint: RETRY,
  });
}

/** The error of a file that was sent, and whose response is lost or has no id. */
export function lostError(file: string, error: unknown): OutcomeUnknownError {
  const info = error instanceof PartnerctlError ? error.info : {};
  const why = info.why ?? errorMessage(error);
  return new OutcomeUnknownError(`${file} may have been uploaded.`, { ...info, why, hint: RETRY, cause: error });
}

/** The error of a file that was uploaded, but whose id could not be recorded. */
export function unrecordedFileError(file: string, id: string, cause: unknown): PartnerctlError {
  return unrecordedError(`${file} was uploaded as ${id}, but its id could not be recorded.`, cause, {
    hint: 'Keep the id. No run sends the file again without --retry-unknown: later runs report it as unknown (exit code 9).',
    details: { id },
  });
}
