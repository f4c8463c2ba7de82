import type { Http } from '../api/http.ts';
import { mapConcurrent } from '../api/map-concurrent.ts';
import { RunStopped, stopsRun, takeTurns } from '../api/take-turns.ts';
import { createUpload } from '../api/uploads.ts';
import type { Context } from '../cli/context.ts';
import { fileFieldOf, type UploadKind } from '../contract/uploads.ts';
import { InterruptedError, PartnerctlError, RunFailure } from '../errors.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import { nameSome } from '../output/sentences.ts';
import { openLedger, otherLines } from '../state-old/ledger.ts';
import { describeThisProcess, hasEnded } from '../state-old/owner.ts';
import { randomRecordId } from '../state-old/record.ts';
import type { StateStore } from '../state-old/store.ts';
import { keepUnpublished } from '../state-old/unpublished.ts';
import { lineWarner } from '../state-old/unusable-lines.ts';
import { filenameIndex, lookUpUpload, type UploadDeps, type UploadOptions, uploadOnce } from './upload-once.ts';
import type { UploadProgress } from './upload-progress.ts';
import { UPLOAD_RECORDS } from './upload-records.ts';
import { type UploadResult, uploadOutcomeError } from './upload-result.ts';
import type { UploadSource } from './upload-source.ts';

export interface RunOptions extends UploadOptions {
  readonly as: UploadKind;
  readonly concurrency: number;
  readonly dryRun: boolean;
}

async function openDeps(
  context: Context,
  http: Http,
  { as: kind, concurrency }: RunOptions,
  sources: readonly UploadSource[],
): Promise<UploadDeps & { readonly store: StateStore }> {
  const location = await context.stateLocation();
  const store = await context.stateStore();
  const owner = describeThisProcess();
  const filenames = new Set(sources.map(({ filename }) => filename));
  const ledger = openLedger(store.open({ isSkipped: otherLines(UPLOAD_RECORDS) }), UPLOAD_RECORDS, {
    isWanted: (record) => !('snapshot' in record) || filenames.has(record.snapshot.filename),
    indexName: (record) => ('snapshot' in record ? filenameIndex(record.snapshot.filename) : undefined),
    onUnusable: lineWarner(store.label, (text) => context.warn(text)),
  });
  let checked: Promise<void> | undefined;
  return {
    origin: http.baseUrl,
    kind,
    fileField: fileFieldOf(kind, http.contract),
    ledger,
    clock: context.clock,
    newId: randomRecordId,
    owner,
    hasEnded: (other) => hasEnded(other, owner),
    ...keepUnpublished(location, UPLOAD_RECORDS),
    store,
    inTurn: takeTurns(concurrency, stopsRun).inTurn,
    reservesFirst: sources.length > 1 && store.reservationsAtOnce > 1,
    isShared: location.kind !== 'file',
    async post(body) {
      // Otherwise a state that cannot be written is noticed only after the whole file was sent.
      checked ??= store.check();
      await checked;
      return await createUpload(http, kind, body);
    },
    abortSignal: context.abortSignal,
  };
}

/**
 * Uploads files concurrently, and yields each result as soon as it is available, including failures. Once started, it runs
 * to the end even if the caller stops reading the results.
 */
export async function* uploadFiles(
  context: Context,
  http: Http,
  sources: readonly UploadSource[],
  { progress, ...options }: RunOptions & { readonly progress: UploadProgress },
): AsyncGenerator<UploadResult> {
  const { as } = options;
  const deps = await openDeps(context, http, options, sources);
  const concurrency = Math.max(options.concurrency, deps.store.reservationsAtOnce);
  const { interrupt } = context.signals;
  const inFlight = new Set<string>();
  let stopped: PartnerctlError | undefined;

  const isTimeUp = (): boolean => context.abortSignal.aborted && !interrupt.aborted;

  /** Why no further file is started; undefined to continue. */
  function stopReason(): PartnerctlError | undefined {
    if (interrupt.aborted) return new InterruptedError('Interrupted before it was started.');
    const reason = stopped ?? (isTimeUp() ? context.abortSignal.reason : undefined);
    return reason instanceof PartnerctlError
      ? new RunFailure(`It was not started. ${reason.message}`, reason, { details: null })
      : undefined;
  }

  async function uploadOne(source: UploadSource, index: number): Promise<UploadResult> {
    const { label: file, bytes } = source;
    const initial = { index, file, as, id: null, bytes, sha256: null, error: undefined } as const;
    const reason = stopReason();
    if (reason) return { ...initial, status: 'failed', error: reason, wasNotStarted: !isTimeUp() };
    if (!deps.reservesFirst) progress.started(source);
    let isSent = false;
    inFlight.add(file);
    try {
      const request = { ...options, source };
      const outcome = options.dryRun
        ? await lookUpUpload(request, deps)
        : await uploadOnce(request, deps, (sent) => {
            if (deps.reservesFirst && sent === 0) progress.started(source);
            progress.advanced(source, sent);
          });
      if (!outcome) return { ...initial, status: 'planned' };
      const { status, sha256 } = outcome;
      isSent = status === 'uploaded';
      const notStarted = outcome.status === 'failed' && outcome.error instanceof RunStopped ? stopReason() : undefined;
      if (notStarted) return { ...initial, status: 'failed', error: notStarted, wasNotStarted: true };
      const error = uploadOutcomeError(file, outcome, deps.isShared);
      if (stopsRun(error)) stopped = error;
      return { ...initial, id: 'id' in outcome ? outcome.id : null, sha256, status, error };
    } catch (error) {
      return { ...initial, status: 'failed', error };
    } finally {
      inFlight.delete(file);
      progress.finished(source, isSent);
    }
  }

  const previous = new Map<string, Promise<UploadResult>>();

  /** Uploads possible copies of a file one after the other, so that they are skipped after the first upload. */
  function uploadInTurn({ source, index }: QueuedSource): Promise<UploadResult> {
    const identity = nameAndSize(source);
    const result = Promise.resolve(previous.get(identity)).then(() =>
      deps.store.together(() => uploadOne(source, index)),
    );
    previous.set(identity, result);
    return result;
  }

  const forget = context.signals.beforeExit(() => describeInFlight(options.dryRun ? [] : [...inFlight]));
  try {
    for await (const result of mapConcurrent(copiesLast(sources), concurrency, uploadInTurn)) {
      yield result;
    }
  } finally {
    forget();
  }
}

/** Describes the files that a second Ctrl-C interrupts; undefined if none are in flight. */
function describeInFlight(files: readonly string[]): string | undefined {
  if (files.length === 0) return undefined;
  const names = sanitizeLine(nameSome(files));
  return `Ended while files were being sent, so they may or may not be uploaded: ${names}. Run the same command again: it names those that may be, and sends the others.`;
}

interface QueuedSource {
  readonly source: UploadSource;
  readonly index: number;
}

function nameAndSize({ bytes, filename }: UploadSource): string {
  return `${bytes} ${filename}`;
}

/** Moves possible copies of earlier files to the end, so that they do not hold up other files. */
function copiesLast(sources: readonly UploadSource[]): QueuedSource[] {
  const counts = new Map<string, number>();
  const queue = sources.map((source, index) => {
    const earlier = counts.get(nameAndSize(source)) ?? 0;
    counts.set(nameAndSize(source), earlier + 1);
    return { source, index, earlier };
  });
  return queue.toSorted((a, b) => a.earlier - b.earlier);
}
