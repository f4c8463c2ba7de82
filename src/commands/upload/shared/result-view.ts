import type { PartnerctlError } from '../../../errors.ts';
import { batchFailure } from '../../../output/batch-failure.ts';
import { countByStatus, formatCounts } from '../../../output/batch-result.ts';
import { endedAs, failedItem, itemSection } from '../../../output/ci/findings.ts';
import type { CiView } from '../../../output/command-result.ts';
import { toErrorObject } from '../../../output/error-object.ts';
import { isUnfinished, type UploadResult } from '../../../upload/result.ts';

/** What a CI system shows of the files. */
export const CI_VIEW: CiView<UploadResult> = {
  findings: ({ error }) => failedItem(error, undefined),
  section({ file, id, status, error }) {
    const ended = endedAs(status, error);
    return itemSection(file, id === null ? ended : `${ended}, ${id}`, failedItem(error, undefined));
  },
};

/** A result as -o json prints it. */
export function resultJson({ index: _, error, ...result }: UploadResult): object {
  return { ...result, error: error === undefined ? null : toErrorObject(error) };
}

const NO_UPLOADS = { uploaded: 0, skipped: 0, planned: 0, unknown: 0, failed: 0 };

/** Counts the results by status, as text: `2 uploaded, 1 failed.` */
export function summarize(results: readonly UploadResult[]): string {
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

/** The error of a run that did not upload all of its files; undefined if it did. */
export function failureOf(
  results: readonly UploadResult[],
  force: boolean,
  interruption: unknown,
): PartnerctlError | undefined {
  const items = results.map((result) => {
    const outcome = isUnfinished(result) ? 'skipped' : result.error === undefined ? 'done' : 'failed';
    return { label: result.file, outcome, error: result.error } as const;
  });
  const again = force
    ? 'run it again with only these files: --force uploads every named file again.'
    : 'run it again: uploaded files are not sent again.';
  const messages = {
    noun: 'files',
    message: `The upload is not complete: ${summarize(results)}`,
    summary: summarize(results),
    details: countByStatus(results, NO_UPLOADS),
    resumeHint: `To continue, ${again}`,
    fixHint: `Fix the cause and ${again}`,
  };
  return batchFailure(items, messages, interruption);
}
