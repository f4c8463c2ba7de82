import type { UploadKind } from '../contract/uploads.ts';
import { InterruptedError, isWithoutId, OutcomeUnknownError, PartnerctlError, withHint } from '../errors.ts';
import { batchFailure } from '../output/batch-failure.ts';
import { countByStatus, formatCounts } from '../output/batch-result.ts';
import { endedAs, failedItem, itemSection } from '../output/ci/findings.ts';
import type { CiView, Finding } from '../output/command-result.ts';
import { toErrorObject } from '../output/error-object.ts';
import { unrecordedError } from '../state-old/unpublished.ts';
import type { UploadOutcome } from './upload-once.ts';

/** The result of one file. */
export interface UploadResult {
  readonly index: number;
  /** As the user named it. */
  readonly file: string;
  readonly as: UploadKind;
  readonly id: string | null;
  readonly bytes: number;
  readonly sha256: string | null;
  readonly status: 'uploaded' | 'skipped' | 'failed' | 'unknown' | 'planned';
  /** Whether Ctrl-C, or the 401 or 402 of another file, kept it from starting. After --timeout it counts as failed. */
  readonly wasNotStarted?: boolean;
  readonly error: unknown;
}

/** Converts a result to its JSON form. */
export function uploadResultJson({ file, as, id, bytes, sha256, status, error }: UploadResult): object {
  return { file, as, id, bytes, sha256, status, error: error === undefined ? null : toErrorObject(error) };
}

function unknownFailure(file: string, { since, error }: { since: string; error?: unknown }): unknown {
  const hint =
    'Check at the service whether the file exists. If not, run the command again with --retry-unknown, which may create it twice.';
  if (error instanceof PartnerctlError) {
    const { cause } = error;
    if (isWithoutId(error)) {
      return new OutcomeUnknownError(`The service accepted ${file}, but its response has no id.`, {
        ...error.info,
        hint: 'Find the id at the service: partnerctl cannot list uploads. The file is not sent again without --retry-unknown, which would create it twice.',
        cause: error,
      });
    }
    // A permanent cause, such as a redirect, needs its own fix.
    const permanentHint = cause instanceof PartnerctlError && cause.info.permanent ? `${cause.info.hint}\n` : '';
    const info = { ...error.info, why: error.info.why ?? error.message, hint: permanentHint + hint, cause: error };
    return new OutcomeUnknownError(`${file} may have been uploaded.`, info);
  }
  return new OutcomeUnknownError(`${file} may have been uploaded by an earlier run.`, {
    why: `It was sent at ${since}, and the outcome was not recorded or is unknown.`,
    hint,
    cause: error,
  });
}

/** Returns the error to report for an outcome; undefined if there is none. */
export function uploadOutcomeError(file: string, outcome: UploadOutcome, isShared: boolean): unknown {
  if (outcome.status === 'unknown') return unknownFailure(file, outcome);
  if (outcome.status === 'failed') {
    const { error } = outcome;
    if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) return error;
    return withHint(error, { details: { file } });
  }
  if (outcome.status !== 'uploaded' || outcome.unrecorded === undefined) return undefined;
  const { unrecorded, id, recoveryPath } = outcome;
  return unrecordedError({
    created: `${file} was uploaded as ${id}`,
    error: unrecorded,
    recoveryPath,
    isShared,
    hint: 'Keep the id: the next run may upload the file again.',
    details: { id },
  });
}

function failuresOf({ error }: UploadResult): Finding[] {
  return failedItem(error, undefined);
}

/** What a CI system shows of the uploads. */
export const CI_VIEW: CiView<UploadResult> = {
  findings: failuresOf,
  section: (result) => {
    const { file, id, error } = result;
    const status = endedAs(result.status, error);
    return itemSection(file, id === null ? status : `${status}, ${id}`, failuresOf(result));
  },
};

const NO_UPLOADS = { uploaded: 0, skipped: 0, planned: 0, unknown: 0, failed: 0 };

/** Whether the file was interrupted or not started, and did not fail itself. */
function isUnfinished({ wasNotStarted, error }: UploadResult): boolean {
  return wasNotStarted === true || error instanceof InterruptedError;
}

/** Counts the results by status, as text: `2 uploaded, 1 failed.` */
export function summarizeUploads(results: readonly UploadResult[]): string {
  const { uploaded, failed, ...others } = countByStatus(results, NO_UPLOADS);
  const unfinished = results.filter(isUnfinished).length;
  const unrecorded = results.filter(({ status, error }) => status === 'uploaded' && error !== undefined).length;
  return formatCounts({
    uploaded: uploaded - unrecorded,
    'uploaded but not recorded': unrecorded,
    ...others,
    failed: failed - unfinished,
    'not uploaded': unfinished,
  });
}

/**
 * Returns the error of a command that did not upload all of its files; undefined if it did.
 * @param force whether --force was given: a repeated run would then upload everything again
 * @param interruption the reason of the interrupt signal, if there was one
 */
export function uploadFailure(
  results: readonly UploadResult[],
  force: boolean,
  interruption: unknown,
): PartnerctlError | undefined {
  const items = results.map((result) => {
    const { file: label, error } = result;
    const outcome = isUnfinished(result) ? 'skipped' : error === undefined ? 'done' : 'failed';
    return { label, outcome, error } as const;
  });
  const messages = {
    noun: 'files',
    message: `The upload is not complete: ${summarizeUploads(results)}`,
    summary: summarizeUploads(results),
    details: countByStatus(results, NO_UPLOADS),
    resumeHint: force
      ? 'Run it again with only the missing files: --force uploads every named file again.'
      : 'Run it again to continue: uploaded files are not sent again.',
    fixHint: force
      ? 'Fix the cause and run it again with only these files: --force uploads every named file again.'
      : 'Fix the cause and run it again: uploaded files are not sent again.',
  };
  return batchFailure(items, messages, interruption);
}
