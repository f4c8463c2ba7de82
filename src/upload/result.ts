import { batchFailure } from '../batch-failure.ts';
import {
  amplified,
  errorObject,
  InterruptedError,
  LocalError,
  OutcomeUnknownError,
  PartnerctlError,
} from '../errors.ts';
import type { UploadOutcome } from './upload-once.ts';

export type UploadKindName = 'attachment' | 'document';

/** What became of one file. */
export interface UploadResult {
  readonly index: number;
  /** As the person named it. */
  readonly file: string;
  readonly as: UploadKindName;
  readonly id: string | null;
  readonly bytes: number;
  readonly sha256: string | null;
  readonly status: 'uploaded' | 'skipped' | 'failed' | 'unknown' | 'planned';
  readonly error: unknown;
}

/** The fixed form in which scripts see a result. */
export function resultJson({ file, as, id, bytes, sha256, status, error }: UploadResult): object {
  return { file, as, id, bytes, sha256, status, error: error === undefined ? null : errorObject(error) };
}

function unknownFailure(file: string, { since, error }: { since: string; error?: unknown }): unknown {
  const hint =
    'Uploading it again may make it twice. If that is better than not at all, run the same command again with --retry-unknown.';
  if (error instanceof PartnerctlError) {
    const why = [error.message, error.facts.why].filter((line) => line !== undefined).join('\n');
    return new OutcomeUnknownError(`${file} may have been uploaded.`, { ...error.facts, why, hint, cause: error });
  }
  return new OutcomeUnknownError(`${file} may have been uploaded before.`, {
    why: `It was sent at ${since}, and how that ended was never recorded, or is not known.`,
    hint,
    cause: error,
  });
}

/** What there is to report of an outcome; undefined where all is as it should be. */
export function failureOf(file: string, outcome: UploadOutcome): unknown {
  if (outcome.status === 'unknown') return unknownFailure(file, outcome);
  if (outcome.status === 'failed') {
    const { error } = outcome;
    if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) return error;
    return amplified(error, { hint: `${file} was not uploaded.`, details: { file } });
  }
  if (outcome.status !== 'uploaded' || outcome.unrecorded === undefined) return undefined;
  const { unrecorded, id } = outcome;
  return new LocalError(`${file} was uploaded as ${id}, and this could not be recorded.`, {
    why:
      unrecorded instanceof PartnerctlError
        ? `${unrecorded.message}\n${unrecorded.facts.why ?? ''}`
        : String(unrecorded),
    hint: 'Keep the id; a repeat would not know of it.',
    details: { id },
    cause: unrecorded,
  });
}

type Summary = Record<UploadResult['status'], number>;

function summarise(results: readonly UploadResult[]): Summary {
  const summary: Summary = { uploaded: 0, skipped: 0, planned: 0, unknown: 0, failed: 0 };
  for (const { status } of results) summary[status] += 1;
  return summary;
}

/** What became of all files, in words: `2 uploaded, 1 failed.` */
export function summaryText(results: readonly UploadResult[]): string {
  const parts = Object.entries(summarise(results)).filter(([, count]) => count > 0);
  return `${parts.map(([status, count]) => `${count} ${status}`).join(', ')}.`;
}

/**
 * How a command ends that did not upload all of its files.
 * @param interruption the reason of the interrupt signal, where it was given
 */
export function uploadFailure(results: readonly UploadResult[], interruption: unknown): PartnerctlError | undefined {
  const items = results.map(({ file, error }) => {
    const isSkipped = error instanceof InterruptedError;
    return { label: file, outcome: isSkipped ? 'skipped' : error === undefined ? 'done' : 'failed', error } as const;
  });
  const words = {
    noun: 'files',
    summary: summaryText(results),
    details: summarise(results),
    goOn: 'Run it again to go on: what is uploaded is not sent again.',
    mend: 'Mend the cause and run it again: what is uploaded is not sent again.',
  };
  return batchFailure(items, words, interruption);
}
