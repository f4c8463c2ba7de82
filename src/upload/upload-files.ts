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
      // Without it, a file would be sent almost whole only to find that this cannot be recorded.
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
 * Uploads files, some at a time, and yields each result as it is there; a file that fails has one, too. Once it
 * has begun it goes on to the end, also when nobody reads the results any more.
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

  async function one(source: UploadSource, index: number, hash?: string): Promise<UploadResult> {
    const over = stopReason();
    if (over) return { ...withoutOutcome(source, index, as, over), wasNotStarted: !isTimeUp() };
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

  const namesakes = new Map<string, number>();
  const kindOf = ({ bytes, filename }: UploadSource): string => `${bytes} ${filename}`;
  for (const source of sources) namesakes.set(kindOf(source), (namesakes.get(kindOf(source)) ?? 0) + 1);

  const lines = new Map<string, (() => Promise<UploadResult>)[]>();
  /**
   * What is the same file in two places goes one after the other, so that the second one is known by the first. Who finds
   * one under way leaves its own to it, and makes room for other files.
   */
  async function inTurn(
    source: UploadSource,
    index: number,
    give: (result: UploadResult) => void,
  ): Promise<UploadResult | undefined> {
    if (namesakes.get(kindOf(source)) === 1 || stopReason()) return await one(source, index);
    // What cannot be read says so when its turn comes.
    const hash = await identify(source, deps).catch(() => undefined);
    const turn = () => one(source, index, hash);
    const alike = `${hash} ${source.filename}`;
    const underWay = lines.get(alike);
    if (underWay) {
      underWay.push(turn);
      return undefined;
    }
    const line = [turn];
    lines.set(alike, line);
    // Also those that come to stand in it meanwhile.
    for (const next of line) give(await next());
    lines.delete(alike);
    return undefined;
  }
  yield* mapConcurrent(sources, options.concurrency, inTurn);
}
