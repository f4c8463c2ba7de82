import type { Http } from '../api/http.ts';
import { mapConcurrent } from '../api/map-concurrent.ts';
import { createUpload } from '../api/uploads.ts';
import type { Context } from '../cli/context.ts';
import type { UploadKind } from '../contract/uploads.ts';
import { InterruptedError, isBalanceTooLow, isTokenRejected, PartnerctlError, RunFailure } from '../errors.ts';
import { ensureWritable } from '../state/append.ts';
import { openLedger } from '../state/ledger.ts';
import { fileStore } from '../state/log.ts';
import { describeThisProcess, hasEnded } from '../state/owner.ts';
import { randomRecordId } from '../state/record.ts';
import {
  filenameIndex,
  identify,
  lookUpUpload,
  type UploadDeps,
  type UploadOptions,
  type UploadOutcome,
  uploadOnce,
} from './upload-once.ts';
import { UPLOAD_RECORDS } from './upload-records.ts';
import { outcomeError, type UploadResult } from './upload-result.ts';
import type { UploadSource } from './upload-source.ts';

export interface RunOptions extends UploadOptions {
  readonly as: UploadKind;
  readonly concurrency: number;
  readonly dryRun: boolean;
}

/** Receives the progress of the files. */
export interface UploadProgress {
  started(source: UploadSource): void;
  /** @param bytes taken by the connection so far; starts again at 0 with every attempt */
  advanced(source: UploadSource, bytes: number): void;
  /** @param isSent whether this run uploaded it */
  finished(source: UploadSource, isSent: boolean): void;
}

async function openDeps(
  context: Context,
  http: Http,
  kind: UploadKind,
  sources: readonly UploadSource[],
): Promise<UploadDeps> {
  const path = await context.statePath();
  const filenames = new Set(sources.map(({ filename }) => filename));
  const warned = new Set<number>();
  const store = fileStore(path, { containing: UPLOAD_RECORDS.searchTexts });
  const ledger = openLedger(store, UPLOAD_RECORDS, {
    isWanted: (record) => !('snapshot' in record) || filenames.has(record.snapshot.filename),
    indexName: (record) => ('snapshot' in record ? filenameIndex(record.snapshot.filename) : undefined),
    async onUnusable({ line, why }) {
      if (!warned.has(line)) await context.warn(`${path}:${line} is ignored: ${why}`);
      warned.add(line);
    },
  });
  let preparing: Promise<void> | undefined;
  return {
    origin: http.baseUrl,
    kind,
    ledger,
    clock: context.clock,
    newId: randomRecordId,
    owner: await describeThisProcess(),
    hasEnded,
    async post(body) {
      // Otherwise a file would be sent almost completely before the reservation turns out to be unwritable.
      preparing ??= ensureWritable(path);
      await preparing;
      return await createUpload(http, kind, body);
    },
    abortSignal: context.abortSignal,
  };
}

function resultOf(source: UploadSource, outcome: UploadOutcome, index: number, as: UploadKind): UploadResult {
  const { label: file, bytes } = source;
  const id = 'id' in outcome ? outcome.id : null;
  return { index, file, as, id, bytes, sha256: outcome.sha256, status: outcome.status, error: undefined };
}

function withoutOutcome(
  { label: file, bytes }: UploadSource,
  index: number,
  as: UploadKind,
  error: unknown,
): UploadResult {
  return { index, file, as, id: null, bytes, sha256: null, status: 'failed', error };
}

/**
 * Uploads files, several at a time, and yields each result when it is complete. Failures are results; it does not throw.
 * Once started it runs to the end, even when the caller stops reading the results.
 */
export async function* uploadFiles(
  context: Context,
  http: Http,
  sources: readonly UploadSource[],
  options: RunOptions,
  watch: UploadProgress,
): AsyncGenerator<UploadResult> {
  const { as, dryRun } = options;
  const deps = await openDeps(context, http, as, sources);
  const { interrupt } = context.signals;
  let stopped: PartnerctlError | undefined;

  const isTimeUp = (): boolean => context.abortSignal.aborted && !interrupt.aborted;

  /** Why no further file is started; undefined while files are. */
  function stopReason(): PartnerctlError | undefined {
    if (interrupt.aborted) return new InterruptedError('Interrupted before it was started.');
    const reason = stopped ?? (isTimeUp() ? context.abortSignal.reason : undefined);
    return reason instanceof PartnerctlError
      ? new RunFailure(`It was not started. ${reason.message}`, reason, { details: null })
      : undefined;
  }

  async function outcomeOf(source: UploadSource, hash: string | undefined): Promise<UploadOutcome | undefined> {
    const request = { ...options, source, hash };
    if (dryRun) return await lookUpUpload(request, deps);
    return await uploadOnce(request, deps, (bytes) => watch.advanced(source, bytes));
  }

  async function uploadOne(source: UploadSource, index: number, hash?: string): Promise<UploadResult> {
    const notStarted = stopReason();
    if (notStarted) return { ...withoutOutcome(source, index, as, notStarted), wasNotStarted: !isTimeUp() };
    watch.started(source);
    let isSent = false;
    try {
      const outcome = await outcomeOf(source, hash);
      isSent = outcome?.status === 'uploaded';
      if (!outcome) return { ...withoutOutcome(source, index, as, undefined), status: 'planned' };
      const error = outcomeError(source.label, outcome);
      if (isBalanceTooLow(error) || isTokenRejected(error)) stopped = error;
      return { ...resultOf(source, outcome, index, as), error };
    } catch (error) {
      return withoutOutcome(source, index, as, error);
    } finally {
      watch.finished(source, isSent);
    }
  }

  const sizeAndName = ({ bytes, filename }: UploadSource): string => `${bytes} ${filename}`;
  const counts = new Map<string, number>();
  for (const source of sources) counts.set(sizeAndName(source), (counts.get(sizeAndName(source)) ?? 0) + 1);

  /** Uploads of files with the same name and content, by both. */
  const queues = new Map<string, (() => Promise<UploadResult>)[]>();
  /**
   * Uploads copies of a file one after the other, so that the record of the first is found for the others. A copy joins the
   * queue of one that is being uploaded, and its result is passed to `emit`.
   */
  async function uploadCopiesInTurn(
    source: UploadSource,
    index: number,
    emit: (result: UploadResult) => void,
  ): Promise<UploadResult | undefined> {
    if (counts.get(sizeAndName(source)) === 1 || stopReason()) return await uploadOne(source, index);
    // A file that cannot be read fails in its own upload.
    const hash = await identify(source, deps).catch(() => undefined);
    const upload = () => uploadOne(source, index, hash);
    const key = `${hash} ${source.filename}`;
    const queue = queues.get(key);
    if (queue) {
      queue.push(upload);
      return undefined;
    }
    const ownQueue = [upload];
    queues.set(key, ownQueue);
    // The loop includes uploads that join while it runs.
    for (const next of ownQueue) emit(await next());
    queues.delete(key);
    return undefined;
  }
  yield* mapConcurrent(sources, options.concurrency, uploadCopiesInTurn);
}
