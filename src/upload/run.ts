import type { Http } from '../api/http.ts';
import { createUpload } from '../api/uploads.ts';
import { asSettled } from '../as-settled.ts';
import type { Context } from '../context.ts';
import { InterruptedError, isBalanceTooLow, isTokenRefused } from '../errors.ts';
import { hasEnded, thisProcess } from '../state/owner.ts';
import { randomRecordId } from '../state/record.ts';
import { appendUploadRecord, openUploadLog } from '../state/upload.ts';
import { failureOf, type UploadKindName, type UploadResult } from './result.ts';
import type { UploadSource } from './source.ts';
import { lookUpUpload, type UploadOptions, type UploadOutcome, type UploadParts, uploadOnce } from './upload-once.ts';

export interface RunOptions extends UploadOptions {
  readonly as: UploadKindName;
  readonly concurrency: number;
  readonly dryRun: boolean;
}

/** Told how the files get on. */
export interface UploadWatch {
  began(source: UploadSource): void;
  /** How many bytes of it were taken so far; begins again at 0 with every attempt. */
  progress(source: UploadSource, bytes: number): void;
  ended(source: UploadSource): void;
}

async function openParts(
  context: Context,
  http: Http,
  kind: UploadKindName,
  sources: readonly UploadSource[],
): Promise<UploadParts> {
  const path = await context.statePath();
  const said = new Set<number>();
  const look = openUploadLog(
    path,
    sources.map(({ filename }) => filename),
  );
  return {
    origin: http.baseUrl,
    kind,
    ledger: {
      async read(filename) {
        const { records, unusable } = await look(filename);
        for (const { line, why } of unusable) {
          if (!said.has(line)) await context.warn(`${path}:${line} is left out: ${why}`);
          said.add(line);
        }
        return records;
      },
      append: (record) => appendUploadRecord(path, record),
    },
    clock: context.clock,
    newId: randomRecordId,
    owner: await thisProcess(),
    hasEnded,
    post: (body) => createUpload(http, kind, body),
    ended: context.ended,
  };
}

function resultOf(source: UploadSource, outcome: UploadOutcome, index: number, as: UploadKindName): UploadResult {
  const { label: file, bytes } = source;
  const id = 'id' in outcome ? outcome.id : null;
  return { index, file, as, id, bytes, sha256: outcome.sha256, status: outcome.status, error: undefined };
}

function notBegun(
  { label: file, bytes }: UploadSource,
  index: number,
  as: UploadKindName,
  error: unknown,
): UploadResult {
  return { index, file, as, id: null, bytes, sha256: null, status: 'failed', error };
}

/**
 * Uploads files, some at a time, and yields each result as it is there. Failures are results; nothing is thrown. Once it
 * has begun it goes on to the end, also when nobody reads the results any more.
 */
export async function* uploadAll(
  context: Context,
  http: Http,
  sources: readonly UploadSource[],
  options: RunOptions,
  watch: UploadWatch,
): AsyncGenerator<UploadResult> {
  const { default: pLimit } = await import('p-limit');
  const limit = pLimit(options.concurrency);
  const { as, dryRun } = options;
  const parts = await openParts(context, http, as, sources);
  const { interrupt } = context.signals;
  let stopped: unknown;

  async function outcomeOf(source: UploadSource): Promise<UploadOutcome | undefined> {
    if (dryRun) return await lookUpUpload(source, parts, options);
    return await uploadOnce(source, parts, options, (bytes) => watch.progress(source, bytes));
  }

  async function one(source: UploadSource, index: number): Promise<UploadResult> {
    if (interrupt.aborted) return notBegun(source, index, as, new InterruptedError('Interrupted before it was begun.'));
    if (stopped !== undefined) return notBegun(source, index, as, stopped);
    watch.began(source);
    try {
      const outcome = await outcomeOf(source);
      if (!outcome) return { ...notBegun(source, index, as, undefined), status: 'planned' };
      const error = failureOf(source.label, outcome);
      if (isBalanceTooLow(error) || isTokenRefused(error)) stopped = error;
      return { ...resultOf(source, outcome, index, as), error };
    } catch (error) {
      return notBegun(source, index, as, error);
    } finally {
      watch.ended(source);
    }
  }

  const ahead = new Map<string, Promise<UploadResult>>();
  /** What may be the same file in two places goes one after the other, so that the second one is known by the first. */
  function inTurn(source: UploadSource, index: number): Promise<UploadResult> {
    const alike = `${source.bytes} ${source.filename}`;
    const result = Promise.resolve(ahead.get(alike)).then(() => limit(() => one(source, index)));
    ahead.set(alike, result);
    return result;
  }
  yield* asSettled(sources.map(inTurn));
}
