import { type Batch, countByStatus, endedAs, formatCounts } from '../../../output/batch-result.ts';
import { toErrorObject } from '../../../output/error-object.ts';
import { isUnfinished, type UploadResult } from '../../../upload/result.ts';

const NONE = { uploaded: 0, skipped: 0, planned: 0, unknown: 0, failed: 0 };

/** The results in a sentence: `2 uploaded, 1 failed.` */
function summarize(results: readonly UploadResult[]): string {
  const { uploaded, failed, ...others } = countByStatus(results, NONE);
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

/** Files as `upload` shows them. @param force whether another run would upload all of them again */
export function fileBatch(force: boolean): Batch<UploadResult> {
  const again = force
    ? 'run it again with only these files: --force uploads every named file again.'
    : 'run it again: uploaded files are not sent again.';
  return {
    empty: 'Nothing to upload.',
    json: ({ index: _, error, ...result }) => ({ ...result, error: error === undefined ? null : toErrorObject(error) }),
    item: (result) => ({
      label: result.file,
      outcome: isUnfinished(result) ? 'skipped' : result.error === undefined ? 'done' : 'failed',
      error: result.error,
    }),
    messages: (results) => ({
      noun: 'files',
      message: `The upload is not complete: ${summarize(results)}`,
      summary: summarize(results),
      details: countByStatus(results, NONE),
      resumeHint: `To continue, ${again}`,
      fixHint: `Fix the cause and ${again}`,
    }),
    ci: ({ file, id, status, error }) => ({
      name: file,
      detail: [endedAs(status, error), id].filter((part) => part !== null).join(', '),
      failures: [error],
    }),
  };
}
