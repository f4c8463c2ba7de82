import { type Batch, countByStatus, endedAs, formatCounts } from '../../../output/batch-result.ts';
import { toErrorObject } from '../../../output/error-object.ts';
import { isUnfinished, type UploadResult } from '../../../upload/result.ts';

const NONE = { uploaded: 0, skipped: 0, planned: 0, unknown: 0, failed: 0 };

const AGAIN = 'run it again: uploaded files are not sent again, except with --force.';

/** Files as `upload` shows them. */
export const FILE_BATCH: Batch<UploadResult> = {
  empty: 'Nothing to upload.',
  json: ({ index: _, error, ...result }) => ({ ...result, error: error === undefined ? null : toErrorObject(error) }),
  item: (result) => ({
    label: result.file,
    outcome: isUnfinished(result) ? 'skipped' : result.error === undefined ? 'done' : 'failed',
    error: result.error,
  }),
  messages: (results) => {
    const details = countByStatus(results, NONE);
    const summary = formatCounts(details);
    return {
      noun: 'files',
      message: `The upload is not complete: ${summary}`,
      summary,
      details,
      resumeHint: `To continue, ${AGAIN}`,
      fixHint: `Fix the cause and ${AGAIN}`,
    };
  },
  ci: ({ file, id, status, error }) => ({
    name: file,
    detail: [endedAs(status, error), id].filter((part) => part !== null).join(', '),
    failures: [error],
  }),
};
