import type { UploadKind } from '../contract/uploads.ts';
import {
  InterruptedError,
  LocalError,
  OutcomeUnknownError,
  PartnerctlError,
  toErrorObject,
  withHint,
} from '../errors.ts';
import { batchFailure } from '../output/batch-failure.ts';
import type { UploadOutcome } from './upload-once.ts';

/** What became of one file. */
export interface UploadResult {
  readonly index: number;
  /** As the person named it. */
  readonly file: string;
  readonly as: UploadKind;
  readonly id: string | null;
  readonly bytes: number;
  readonly sha256: string | null;
  readonly status: 'uploaded' | 'skipped' | 'failed' | 'unknown' | 'planned';
  /** Whether it was not begun because of Ctrl-C, or of a 401 or 402 to another file. Where the time was up, it failed. */
  readonly wasNotStarted?: boolean;
  readonly error: unknown;
}

/** The fixed form in which scripts see a result. */
export function uploadResultJson({ file, as, id, bytes, sha256, status, error }: UploadResult): object {
  return { file, as, id, bytes, sha256, status, error: error === undefined ? null : toErrorObject(error) };
}

function unknownFailure(file: string, { since, error }: { since: string; error?: unknown }): unknown {
  const hint =
    'Check at the service whether it is there. If not, the same command with --retry-unknown uploads it again, which may make it twice.';
  if (error instanceof PartnerctlError) {
    const { cause } = error;
    // What stands in the way for good, a redirect for one, will do so after any look.
    const lasting = cause instanceof PartnerctlError && cause.info.permanent ? `${cause.info.hint}\n` : '';
    const facts = { ...error.info, why: error.info.why ?? error.message, hint: lasting + hint, cause: error };
    return new OutcomeUnknownError(`${file} may have been uploaded.`, facts);
  }
  return new OutcomeUnknownError(`${file} may have been uploaded before.`, {
    why: `It was sent at ${since}, and how that ended was never recorded, or is not known.`,
    hint,
    cause: error,
  });
}

/** What there is to report of an outcome; undefined where all is as it should be. */
export function outcomeError(file: string, outcome: UploadOutcome): unknown {
  if (outcome.status === 'unknown') return unknownFailure(file, outcome);
  if (outcome.status === 'failed') {
    const { error } = outcome;
    if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) return error;
    return withHint(error, { details: { file } });
  }
  if (outcome.status !== 'uploaded' || outcome.unrecorded === undefined) return undefined;
  const { unrecorded, id } = outcome;
  return new LocalError(`${file} was uploaded as ${id}, and this could not be recorded.`, {
    why:
      unrecorded instanceof PartnerctlError
        ? `${unrecorded.message}\n${unrecorded.info.why ?? ''}`
        : String(unrecorded),
    hint: 'Keep the id: the next run does not know it, and may upload the file again.',
    details: { id },
    cause: unrecorded,
  });
}

type Summary = Record<UploadResult['status'], number>;

function countByStatus(results: readonly UploadResult[]): Summary {
  const summary: Summary = { uploaded: 0, skipped: 0, planned: 0, unknown: 0, failed: 0 };
  for (const { status } of results) summary[status] += 1;
  return summary;
}

/** Whether nothing failed about the file itself. */
function isUnfinished({ wasNotStarted: isLeftOut, error }: UploadResult): boolean {
  return isLeftOut === true || error instanceof InterruptedError;
}

/** What became of all files, in words: `2 uploaded, 1 failed.` */
export function summarizeUploads(results: readonly UploadResult[]): string {
  const { failed, ...others } = countByStatus(results);
  const unfinished = results.filter(isUnfinished).length;
  const counts = Object.entries({ ...others, failed: failed - unfinished, 'not uploaded': unfinished });
  const parts = counts.filter(([, count]) => count > 0).map(([what, count]) => `${count} ${what}`);
  return `${parts.join(', ')}.`;
}

/** What is to be said in place of how many failed, where that would not be all. */
function specialMessage(results: readonly UploadResult[]): string | undefined {
  const all = results.length;
  const left = results.filter(isUnfinished).length;
  const { unknown, failed } = countByStatus(results);
  const [lost, unbegun] = [failed - left, left === 0 ? '' : `, ${left} were not begun`];
  const unrecorded = results.filter(({ status, error }) => status === 'uploaded' && error !== undefined).length;
  if (unrecorded > 0 && unknown + failed === 0) return `${unrecorded} of ${all} files could not be recorded.`;
  if (unknown === 0) return left === 0 ? undefined : `${lost} of ${all} files failed${unbegun}.`;
  const said = `whether ${unknown} of ${all} files ${unknown === 1 ? 'was' : 'were'} uploaded`;
  return lost + left === 0 ? `It is not known ${said}.` : `${lost} failed${unbegun}, and it is not known ${said}.`;
}

/**
 * How a command ends that did not upload all of its files.
 * @param force whether what had been uploaded was uploaded anew: a repeat would do that again
 * @param interruption the reason of the interrupt signal, where it was given
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
  const words = {
    noun: 'files',
    message: specialMessage(results),
    summary: summarizeUploads(results),
    details: countByStatus(results),
    resumeHint: force
      ? 'Run it again for those that are missing: with --force every file that is named goes up anew.'
      : 'Run it again to go on: what is uploaded is not sent again.',
    fixHint: force
      ? 'Once the cause is mended, run it again for these: with --force every file that is named goes up anew.'
      : 'Run it again once the cause is mended: what is uploaded is not sent again.',
  };
  return batchFailure(items, words, interruption);
}
