import { hash } from 'node:crypto';
import pLimit, { type LimitFunction } from 'p-limit';
import type { UploadKind } from '../contract/uploads.ts';
import { provesNothingDone, stopsRun } from '../errors.ts';
import { waitOutLeases } from '../state/lease.ts';
import { createOnce, type Failure, failureOf, type OnceDeps, type Result, type Steps } from '../state/once.ts';
import { type OnceKind, type Standing, standingOf, standings } from '../state/standing.ts';
import type { LocalFile } from './files.ts';
import {
  failedError,
  lostError,
  NotStarted,
  type Outcome,
  openError,
  type UploadResult,
  unrecordedError,
} from './result.ts';
import { type HeldRequest, hashFile, type StartOptions, startUpload } from './send.ts';

/** What identifies an upload: the state records it, and nothing else of a file. */
type UploadIdentity = {
  /** The base URL of the service. */
  readonly origin: string;
  readonly kind: UploadKind;
  readonly sha256: string;
  readonly filename: string;
};

const KEY_LENGTH = 24;

/** The records of uploads in the state. */
const UPLOADS: OnceKind<UploadIdentity> = {
  type: 'upload',
  decode({ origin, kind, sha256, filename }) {
    if (typeof origin !== 'string' || (kind !== 'attachment' && kind !== 'document')) return undefined;
    if (typeof sha256 !== 'string' || typeof filename !== 'string') return undefined;
    return { origin, kind, sha256, filename };
  },
  keyOf: ({ origin, kind, sha256, filename }) =>
    hash('sha256', JSON.stringify([origin, kind, sha256, filename]), 'hex').slice(0, KEY_LENGTH),
};

export interface UploadOptions extends Pick<StartOptions, 'as' | 'contentType'> {
  readonly concurrency: number;
  /** Whether to upload files again that were uploaded. */
  readonly force: boolean;
  /** Whether to upload files again that may have been uploaded. */
  readonly retryUnknown: boolean;
  readonly dryRun: boolean;
}

export interface UploadDeps extends OnceDeps, Pick<StartOptions, 'http' | 'onSent'> {
  /** Receives each result as soon as it is known. */
  readonly onResult: (result: UploadResult) => void;
  /** Called before a pause in which another process may finish its uploads, with the time that is left. */
  readonly onWait: (leftMs: number) => void;
}

/** What is uploaded once. */
interface Upload {
  readonly data: UploadIdentity;
  readonly file: LocalFile;
  /** The positions in the input of the file, and of others of the same name and content. */
  readonly copies: { readonly index: number; readonly file: LocalFile }[];
  /** Records of earlier uploads that do not block this one. */
  replaces: readonly string[];
}

type Standings = ReadonlyMap<string, Standing<UploadIdentity>>;

/** Smaller files are reserved together before any of them is sent: even a slow line sends them within a lease. */
const MAX_BATCHED_BYTES = 128 * 1024;

/** The uploads of one command. */
class UploadRun {
  private readonly options: UploadOptions;
  private readonly deps: UploadDeps;
  private readonly limit: LimitFunction;
  /** What has no outcome yet. */
  private readonly pending = new Set<Upload>();
  /** The reservations whose owners can no longer upload anything. */
  private readonly ended = new Set<string>();
  /** Aborts with an error that every further request would get. */
  private readonly stop = new AbortController();
  private readonly signal: AbortSignal;

  constructor(options: UploadOptions, deps: UploadDeps) {
    this.options = options;
    this.deps = deps;
    this.limit = pLimit(options.concurrency);
    this.signal = AbortSignal.any([deps.signal, this.stop.signal]);
  }

  async run(files: readonly LocalFile[]): Promise<void> {
    await this.identify(files);
    let all = await this.readLog();
    try {
      while (this.pending.size > 0) {
        await this.pass(all);
        if (this.pending.size === 0) return;
        all = await this.readLog();
        const owners = [...this.pending].flatMap((upload) => this.ownersOf(upload, all));
        const ids = new Set(owners.map(({ id }) => id));
        // An owner that finishes has made a copy. One that has not within a lease never sends anything.
        await waitOutLeases(this.deps, UPLOADS, ids, { skipUnknown: true, onWait: this.deps.onWait });
        for (const id of ids) this.ended.add(id);
        all = await this.readLog();
      }
    } catch (error) {
      for (const upload of this.pending) this.fail(upload, error);
    }
  }

  private async readLog(): Promise<Standings> {
    return standings(await this.deps.log.read(), UPLOADS);
  }

  /** The reservations of other processes that may still upload the file. */
  private ownersOf({ data }: Upload, all: Standings) {
    const { open } = standingOf(all, UPLOADS.keyOf(data));
    return open.filter(({ id, isUnknown }) => !isUnknown && !this.ended.has(id));
  }

  /** Hashes the files. Reports those that cannot be read. */
  private async identify(files: readonly LocalFile[]): Promise<void> {
    const { http, signal } = this.deps;
    const hashed = files.map(async (file, index) => {
      try {
        return { file, index, sha256: await this.limit(() => hashFile(file, signal)) };
      } catch (error) {
        this.report({ file, index }, null, { status: 'failed', error: failedError(file.label, error) });
        return undefined;
      }
    });
    const uploads = new Map<string, Upload>();
    for (const each of await Promise.all(hashed)) {
      if (!each) continue;
      const { file, index, sha256 } = each;
      const data = { origin: http.baseUrl, kind: this.options.as, sha256, filename: file.filename };
      const upload = uploads.get(UPLOADS.keyOf(data)) ?? { data, file, copies: [], replaces: [] };
      uploads.set(UPLOADS.keyOf(data), upload);
      upload.copies.push({ file, index });
      this.pending.add(upload);
    }
  }

  /** Skips what exists, and uploads what no other process owns. That stays pending. */
  private async pass(all: Standings): Promise<void> {
    const wanted: Upload[] = [];
    for (const upload of this.pending) {
      const next = this.decide(upload, all);
      if (next === 'create') wanted.push(upload);
      else if (next !== 'wait') this.settle(upload, next);
    }
    await this.createAll(wanted);
  }

  private decide(upload: Upload, all: Standings): Outcome | 'create' | 'wait' {
    const { force, retryUnknown, dryRun } = this.options;
    const { objects, open, live } = standingOf(all, UPLOADS.keyOf(upload.data));
    upload.replaces = live;
    const existing = objects.at(-1);
    if (existing && !force) return { status: 'skipped', id: existing.object };
    if (!dryRun && this.ownersOf(upload, all).length > 0) return 'wait';
    if (open.length > 0 && !retryUnknown) return { status: 'unknown', error: openError(upload.file.label, open) };
    return dryRun ? { status: 'planned' } : 'create';
  }

  private async createAll(uploads: readonly Upload[]): Promise<void> {
    const small = uploads.filter(({ file }) => file.bytes <= MAX_BATCHED_BYTES);
    const failure = await this.create(small, (upload, { maySend, timeoutMs }) =>
      this.startRequest(upload, timeoutMs).finish(maySend),
    );
    for (const upload of small) if (failure) this.fail(upload, failure.error);
    const large = uploads.filter(({ file }) => file.bytes > MAX_BATCHED_BYTES);
    await Promise.all(large.map((upload) => this.limit(() => this.createLarge(upload))));
  }

  /** Reserves a file only once all but its end was sent, which may take longer than a lease. */
  private async createLarge(upload: Upload): Promise<void> {
    if (this.stop.signal.aborted) {
      this.fail(upload, this.stop.signal.reason);
      return;
    }
    const request = this.startRequest(upload);
    const finish: Steps<UploadIdentity, Upload>['act'] = (_, { maySend }) => request.finish(maySend);
    let failure = await failureOf(request.untilHeld());
    failure ??= await this.create([upload], finish);
    const unsent = await failureOf(request.finish(() => false));
    // The service may have acted without the end: that must be recorded, even after Ctrl-C.
    if (failure && !provesNothingDone(unsent?.error)) failure = await this.create([upload], finish, { isSent: true });
    if (failure) this.fail(upload, failure.error);
  }

  private startRequest({ file }: Upload, timeoutMs?: number): HeldRequest {
    const { as, contentType } = this.options;
    return startUpload(file, { ...this.deps, as, contentType }, timeoutMs);
  }

  /**
   * @param options `isSent` whether they may have been uploaded already
   * @returns why those that are still pending are: nothing was sent for them
   */
  private async create(
    uploads: readonly Upload[],
    act: Steps<UploadIdentity, Upload>['act'],
    { isSent } = { isSent: false },
  ): Promise<Failure | undefined> {
    const signal = isSent ? new AbortController().signal : this.signal;
    const deps = { ...this.deps, signal, concurrency: this.options.concurrency };
    return await failureOf(
      createOnce(deps, UPLOADS, uploads, {
        act: (upload, options) =>
          act(upload, options).catch((error: unknown) => {
            if (stopsRun(error)) this.stop.abort(error);
            throw error;
          }),
        settled: (upload, result) => this.settleResult(upload, result),
      }),
    );
  }

  private settleResult(upload: Upload, result: Result<UploadIdentity>): void {
    const { label } = upload.file;
    if (result.kind === 'failed') {
      this.settle(upload, { status: 'failed', error: failedError(label, result.error) });
    } else if (result.kind === 'unknown') {
      this.settle(upload, { status: 'unknown', error: lostError(label, result.error) });
    } else if (result.kind === 'created') {
      const { id, unrecorded } = result;
      const error = unrecorded === undefined ? undefined : unrecordedError(label, id, unrecorded);
      this.settle(upload, { status: 'uploaded', id, error });
    }
  }

  /** Settles a file that was not sent, unless it is settled already. */
  private fail(upload: Upload, error: unknown): void {
    if (!this.pending.has(upload)) return;
    const isStopped = stopsRun(error) && error === this.stop.signal.reason;
    if (stopsRun(error)) this.stop.abort(error);
    const reason = isStopped ? new NotStarted(error) : failedError(upload.file.label, error);
    this.settle(upload, { status: 'failed', error: reason });
  }

  /** Reports what became of a file, and of its copies, which are not sent. */
  private settle(upload: Upload, outcome: Outcome): void {
    const { status, id = '' } = outcome;
    const ofCopies: Outcome = status === 'uploaded' ? { status: 'skipped', id } : outcome;
    this.pending.delete(upload);
    for (const [position, copy] of upload.copies.entries()) {
      this.report(copy, upload.data.sha256, position === 0 ? outcome : ofCopies);
    }
  }

  private report({ index, file }: Upload['copies'][number], sha256: string | null, outcome: Outcome): void {
    const { status, id = null, error } = outcome;
    const { label, bytes } = file;
    this.deps.onResult({ index, file: label, as: this.options.as, id, bytes, sha256, status, error });
  }
}

/**
 * Uploads files, each name and content once: hashes them, looks them up in the state, and skips those that exist.
 * @throws LocalError if the state cannot be read, and nothing was sent
 */
export async function uploadFiles(
  files: readonly LocalFile[],
  options: UploadOptions,
  deps: UploadDeps,
): Promise<void> {
  await new UploadRun(options, deps).run(files);
}
