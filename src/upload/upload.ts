import { createHash } from 'node:crypto';
import pLimit, { type LimitFunction } from 'p-limit';
import { stopsRun } from '../api/call-errors.ts';
import type { UploadKind } from '../contract/uploads.ts';
import { type PartnerctlError, provesNothingDone } from '../errors.ts';
import { outlive } from '../state/lease.ts';
import { createOnce, type Failure, failureOf, type OnceDeps, type Result, type Steps } from '../state/once.ts';
import { type OnceKind, type Reservation, standingOf, standings } from '../state/standing.ts';
import type { LocalFile } from './files.ts';
import {
  failedError,
  lostError,
  NotStarted,
  type Outcome,
  openError,
  toResult,
  type UploadResult,
  unrecordedError,
} from './result.ts';
import { type HeldRequest, hashFile, type SendOptions, startUpload } from './send.ts';

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
    createHash('sha256')
      .update(JSON.stringify([origin, kind, sha256, filename]))
      .digest('hex')
      .slice(0, KEY_LENGTH),
};

export interface UploadOptions {
  readonly as: UploadKind;
  /** For all files; by default that of each extension. */
  readonly contentType: string | undefined;
  readonly concurrency: number;
  /** Whether to upload files again that were uploaded. */
  readonly force: boolean;
  /** Whether to upload files again that may have been uploaded. */
  readonly retryUnknown: boolean;
  readonly dryRun: boolean;
}

export interface UploadDeps extends OnceDeps, Pick<SendOptions, 'http' | 'onSent'> {
  /** Receives each result as soon as it is known. */
  readonly onResult: (result: UploadResult) => void;
  /** Called before a pause in which another process may finish its uploads, with the time that is left. */
  readonly onWait: (leftMs: number) => void;
}

/** A file, and its position in the input. */
interface Queued {
  readonly index: number;
  readonly file: LocalFile;
}

/** What is uploaded once. */
interface Upload {
  readonly data: UploadIdentity;
  readonly file: LocalFile;
  /** The file, and others of the same name and content. */
  readonly copies: Queued[];
  /** Records of earlier uploads that do not block this one. */
  readonly replaces: readonly string[];
}

type UploadSteps = Steps<UploadIdentity, Upload>;

/** An upload that another process may be making. */
interface Blocked {
  readonly upload: Upload;
  readonly open: readonly Reservation<UploadIdentity>[];
}

/** Smaller files are reserved together before any of them is sent: even a slow line sends them within a lease. */
const MAX_BATCHED_BYTES = 128 * 1024;

/** The uploads of one command. */
class UploadRun {
  private readonly options: UploadOptions;
  private readonly deps: UploadDeps;
  private readonly limit: LimitFunction;
  /** The error that every further request would get. */
  private stopped: PartnerctlError | undefined;
  /** What another process owns. */
  private blocked: Blocked[] = [];

  constructor(options: UploadOptions, deps: UploadDeps) {
    this.options = options;
    this.deps = deps;
    this.limit = pLimit(options.concurrency);
  }

  async run(files: readonly LocalFile[]): Promise<void> {
    await this.pass(await this.identify(files), () => false);
    const blocked = this.blocked.splice(0);
    if (blocked.length === 0) return;
    // An owner that finishes has made a copy. One that has not within a lease never sends anything.
    const ids = new Set(blocked.flatMap(({ open }) => open.map(({ id }) => id)));
    const uploads = blocked.map(({ upload }) => upload);
    try {
      await outlive(this.deps, UPLOADS, ids, { onWait: this.deps.onWait });
      await this.pass(uploads, ({ id }) => ids.has(id));
    } catch (error) {
      for (const upload of uploads) this.fail(upload, error);
    }
    for (const { upload, open } of this.blocked) this.settle(upload, unknownSince(upload, open));
  }

  /** Hashes the files. Reports those that cannot be read. */
  private async identify(files: readonly LocalFile[]): Promise<readonly Upload[]> {
    const { http, signal } = this.deps;
    const uploads = new Map<string, Upload>();
    const hashed = files.map(async (file, index) => {
      try {
        return { file, index, sha256: await this.limit(() => hashFile(file, signal)) };
      } catch (error) {
        this.report({ file, index }, null, { status: 'failed', error: failedError(file.label, error) });
        return undefined;
      }
    });
    for (const each of await Promise.all(hashed)) {
      if (!each) continue;
      const { file, index, sha256 } = each;
      const data = { origin: http.baseUrl, kind: this.options.as, sha256, filename: file.filename };
      const known = uploads.get(UPLOADS.keyOf(data));
      if (known) known.copies.push({ file, index });
      else uploads.set(UPLOADS.keyOf(data), { data, file, copies: [{ file, index }], replaces: [] });
    }
    return [...uploads.values()];
  }

  /**
   * Skips what exists, and uploads what no other process owns.
   * @param hasEnded whether the owner of a reservation can no longer upload anything
   * @throws LocalError if the state cannot be read, before anything is done
   */
  private async pass(uploads: readonly Upload[], hasEnded: (reservation: Reservation<UploadIdentity>) => boolean) {
    const { force, retryUnknown, dryRun } = this.options;
    const all = standings(await this.deps.log.read(), UPLOADS);
    const batched: Upload[] = [];
    const large: Upload[] = [];
    for (const upload of uploads) {
      const { objects, open, live } = standingOf(all, UPLOADS.keyOf(upload.data));
      const existing = objects.at(-1);
      const isOwned = open.some((reservation) => !reservation.isUnknown && !hasEnded(reservation));
      if (existing && !force) this.settle(upload, { status: 'skipped', id: existing.object });
      else if (isOwned && !dryRun) this.blocked.push({ upload, open });
      else if (open.length > 0 && !retryUnknown) this.settle(upload, unknownSince(upload, open));
      else if (dryRun) this.settle(upload, { status: 'planned' });
      else {
        (upload.file.bytes <= MAX_BATCHED_BYTES ? batched : large).push({ ...upload, replaces: live });
      }
    }
    const unsettled = new Set(batched);
    const failure = await this.create(unsettled, async (upload, { maySend, timeoutMs }) => {
      this.throwIfStopped();
      return await this.startRequest(upload, timeoutMs).finish(maySend);
    });
    for (const upload of unsettled) this.fail(upload, failure?.error);
    await Promise.all(large.map((upload) => this.limit(() => this.createLarge(upload))));
  }

  /** Reserves a file only once all but its end was sent, which may take longer than a lease. */
  private async createLarge(upload: Upload): Promise<void> {
    if (this.stopped) {
      this.fail(upload, new NotStarted(this.stopped));
      return;
    }
    const request = this.startRequest(upload);
    const finish: UploadSteps['act'] = (_, { maySend }) => request.finish(maySend);
    const unsettled = new Set([upload]);
    let failure = await failureOf(request.untilHeld());
    failure ??= await this.create(unsettled, finish);
    if (unsettled.size > 0) {
      const unsent = await failureOf(request.finish(() => false));
      // The service may have acted without the end: that must be recorded, even after Ctrl-C.
      if (!provesNothingDone(unsent?.error)) failure = await this.create(unsettled, finish, { isSent: true });
    }
    for (const each of unsettled) this.fail(each, failure?.error);
    // Ends a request that was not finished, because another process owns the file.
    await failureOf(request.finish(() => false));
  }

  private startRequest({ file }: Upload, timeoutMs?: number): HeldRequest {
    const { as, contentType } = this.options;
    return startUpload(file, { ...this.deps, as, contentType }, timeoutMs);
  }

  private throwIfStopped(): void {
    if (this.stopped) throw new NotStarted(this.stopped);
  }

  /**
   * Creates uploads. Removes those from the set that have an outcome.
   * @param options `isSent` whether they may have been uploaded already
   * @returns why the others have none: nothing was sent for them
   */
  private async create(
    unsettled: Set<Upload>,
    act: UploadSteps['act'],
    { isSent } = { isSent: false },
  ): Promise<Failure | undefined> {
    const signal = isSent ? new AbortController().signal : this.deps.signal;
    const deps = { ...this.deps, signal, concurrency: this.options.concurrency };
    return await failureOf(
      createOnce(deps, UPLOADS, [...unsettled], {
        prepare: async (batch) => {
          if (!isSent) this.throwIfStopped();
          return batch;
        },
        act: (upload, options) =>
          act(upload, options).catch((error: unknown) => {
            if (stopsRun(error)) this.stopped ??= error;
            throw error;
          }),
        settled: (upload, result) => {
          unsettled.delete(upload);
          this.settleResult(upload, result);
        },
      }),
    );
  }

  private settleResult(upload: Upload, result: Result<UploadIdentity>): void {
    const { label } = upload.file;
    switch (result.kind) {
      case 'created': {
        const { id, unrecorded } = result;
        const error = unrecorded === undefined ? undefined : unrecordedError(label, id, unrecorded);
        this.settle(upload, { status: 'uploaded', id, ...(error && { error }) });
        return;
      }
      case 'lost': {
        const { objects, open } = result.standing;
        const existing = objects.at(-1);
        if (existing) this.settle(upload, { status: 'skipped', id: existing.object });
        else this.blocked.push({ upload, open });
        return;
      }
      case 'failed':
        this.fail(upload, result.error, result.unreleased);
        return;
      case 'unknown':
        this.settle(upload, { status: 'unknown', error: lostError(label, result.error) });
    }
  }

  private fail(upload: Upload, error: unknown, unreleased?: unknown): void {
    if (stopsRun(error) && !(error instanceof NotStarted)) this.stopped ??= error;
    this.settle(upload, { status: 'failed', error: failedError(upload.file.label, error, unreleased) });
  }

  /** Reports what became of a file, and of its copies, which are not sent. */
  private settle({ copies, data }: Upload, outcome: Outcome): void {
    const ofCopies: Outcome = outcome.status === 'uploaded' ? { status: 'skipped', id: outcome.id } : outcome;
    for (const [position, copy] of copies.entries()) {
      this.report(copy, data.sha256, position === 0 ? outcome : ofCopies);
    }
  }

  private report(queued: Queued, sha256: string | null, outcome: Outcome): void {
    this.deps.onResult(toResult({ ...queued, as: this.options.as }, sha256, outcome));
  }
}

function unknownSince({ file }: Upload, open: readonly Reservation<UploadIdentity>[]): Outcome {
  return { status: 'unknown', error: openError(file.label, open) };
}

/**
 * Uploads files, each name and content once: hashes them, looks them up in the state, and skips those that exist.
 * @throws LocalError if the state cannot be read, and nothing was sent; the reason of the signal during a wait
 */
export async function uploadFiles(
  files: readonly LocalFile[],
  options: UploadOptions,
  deps: UploadDeps,
): Promise<void> {
  await new UploadRun(options, deps).run(files);
}
