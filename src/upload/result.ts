import type { UploadKind } from '../contract/uploads.ts';
import {
  InterruptedError,
  isWithoutId,
  LocalError,
  OutcomeUnknownError,
  PartnerctlError,
  RunFailure,
  StateUnavailableError,
  withHint,
} from '../errors.ts';
import type { LocalFile } from './files.ts';

/** What became of a file. */
export type Outcome =
  /** `error`: why its id could not be recorded. */
  | { readonly status: 'uploaded'; readonly id: string; readonly error?: PartnerctlError }
  /** It was uploaded before. */
  | { readonly status: 'skipped'; readonly id: string }
  /** With --dry-run: it would be uploaded. */
  | { readonly status: 'planned' }
  /** It may have been uploaded. */
  | { readonly status: 'unknown'; readonly error: PartnerctlError }
  /** It was not uploaded. */
  | { readonly status: 'failed'; readonly error: unknown };

/** The result of one file. */
export interface UploadResult {
  /** The position of the file in the input. */
  readonly index: number;
  /** As the user named it. */
  readonly file: string;
  readonly as: UploadKind;
  readonly id: string | null;
  readonly bytes: number;
  /** Null if the file could not be read. */
  readonly sha256: string | null;
  readonly status: Outcome['status'];
  readonly error: unknown;
}

/** Combines a file and what became of it. @param sha256 null if it could not be read */
export function toResult(
  { index, as, file }: { readonly index: number; readonly as: UploadKind; readonly file: LocalFile },
  sha256: string | null,
  outcome: Outcome,
): UploadResult {
  return {
    index,
    file: file.label,
    as,
    id: 'id' in outcome ? outcome.id : null,
    bytes: file.bytes,
    sha256,
    status: outcome.status,
    error: 'error' in outcome ? outcome.error : undefined,
  };
}

/** A file that was not started, because every further request would have failed as an earlier one did: 401 or 402. */
export class NotStarted extends RunFailure {
  constructor(reason: PartnerctlError) {
    super(`It was not started. ${reason.message}`, reason, { details: null });
  }
}

/** Whether a file did not fail itself: it was interrupted, or not started. */
export function isUnfinished({ error }: UploadResult): boolean {
  return error instanceof NotStarted || error instanceof InterruptedError;
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
  if (!(error instanceof PartnerctlError)) {
    return new OutcomeUnknownError(`${file} may have been uploaded.`, { hint: RETRY, cause: error });
  }
  if (isWithoutId(error)) {
    return new OutcomeUnknownError(`The service accepted ${file}, but its response has no id.`, {
      ...error.info,
      hint: 'Find the id at the service: partnerctl cannot list uploads. The file is not sent again without --retry-unknown, which would create it twice.',
      cause: error,
    });
  }
  const { info, message } = error;
  // A permanent cause, such as a redirect, needs its own fix.
  const fix = info.cause instanceof PartnerctlError && info.cause.info.permanent ? `${info.cause.info.hint}\n` : '';
  const why = info.why ?? message;
  return new OutcomeUnknownError(`${file} may have been uploaded.`, { ...info, why, hint: fix + RETRY, cause: error });
}

/** The error of a file that was uploaded, but whose id could not be recorded. */
export function unrecordedError(file: string, id: string, cause: unknown): PartnerctlError {
  const message = `${file} was uploaded as ${id}, but its id could not be recorded.`;
  const reason = cause instanceof PartnerctlError ? (cause.info.why ?? []) : [];
  const info = {
    why: [cause instanceof Error ? cause.message : String(cause)].concat(reason).join('\n'),
    hint: 'Keep the id. The reservation of the file stays open, so that no run sends it again: later runs report it as unknown (exit code 9). Only --retry-unknown uploads it a second time, and records that copy.',
    details: { id },
    cause,
  };
  return cause instanceof StateUnavailableError
    ? new OutcomeUnknownError(message, info)
    : new LocalError(message, info);
}

/** The error of a file that was not uploaded. @param unreleased why its reservation is still open, if it is */
export function failedError(file: string, error: unknown, unreleased?: unknown): unknown {
  if (!(error instanceof PartnerctlError) || error instanceof InterruptedError || error instanceof NotStarted)
    return error;
  if (unreleased === undefined) return withHint(error, { details: { file } });
  const hint =
    'It was not uploaded, but its reservation could not be removed from the state, so the next run reports it as unknown. To send it then, add --retry-unknown.';
  return withHint(error, { hint, details: { file } });
}
