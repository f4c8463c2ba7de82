import { hash } from 'node:crypto';
import pLimit, { type LimitFunction } from 'p-limit';
import * as v from 'valibot';
import { createUpload, type OnceLimits } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { formBody } from '../api/streamed-body.ts';
import { fileFieldOf, type UploadKind } from '../contract/resources.ts';
import { stopsRun } from '../errors.ts';
import { waitOutLeases } from '../state/lease.ts';
import { createOnce, type OnceDeps, type Result } from '../state/once.ts';
import { type OnceKind, type Standing, standingOf, standings } from '../state/standing.ts';
import { hashFile, type LocalFile, readContent } from './files.ts';
import { lostError, NotStarted, type Outcome, openError, type UploadResult, unrecordedFileError } from './result.ts';

/** What identifies an upload: the state records it, and nothing else of a file. */
const identity = v.object({
  /** The base URL of the service. */
  origin: v.string(),
  kind: v.picklist(['attachment', 'document']),
  sha256: v.string(),
  filename: v.string(),
});

type UploadIdentity = v.InferOutput<typeof identity>;

const UPLOADS: OnceKind<UploadIdentity> = {
  type: 'upload',
  schema: identity,
  keyOf: ({ origin, kind, sha256, filename }) =>
    hash('sha256', JSON.stringify([origin, kind, sha256, filename]), 'hex').slice(0, 24),
};

export interface UploadOptions {
  readonly as: UploadKind;
  /** By default that of each extension. */
  readonly contentType?: string | undefined;
  readonly concurrency: number;
  readonly force?: boolean | undefined;
  readonly retryUnknown?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
}

export interface UploadDeps extends OnceDeps {
  readonly http: Http;
  /** Receives how much of a file the connection has accepted; 0 when an attempt starts. */
  readonly onSent: (file: LocalFile, bytes: number) => void;
  readonly onResult: (result: UploadResult) => void;
  /** Called before a pause in which another process may finish its uploads, with the time that is left. */
  readonly onWait: (leftMs: number) => void;
}

interface Upload {
  readonly data: UploadIdentity;
  readonly file: LocalFile;
  /** The file, and others of the same name and content, with their positions in the input. */
  readonly copies: { readonly index: number; readonly file: LocalFile }[];
  /** Records of earlier uploads that do not block this one. */
  replaces: readonly string[];
}

type Standings = ReadonlyMap<string, Standing<UploadIdentity>>;

/** Smaller files are reserved together before any of them is sent: even a slow line sends them within a lease. */
const MAX_BATCHED_BYTES = 128 * 1024;

class UploadRun {
  private readonly options: UploadOptions;
  private readonly deps: UploadDeps;
  private readonly limit: LimitFunction;
  private readonly pending = new Set<Upload>();
  /** Aborts with an error that every further request would get. */
  private readonly stop = new AbortController();

  constructor(options: UploadOptions, deps: UploadDeps) {
    this.options = options;
    this.deps = deps;
    this.limit = pLimit(options.concurrency);
  }

  async run(files: readonly LocalFile[]): Promise<void> {
    await this.identify(files);
    let all = await this.readLog();
    try {
      while (this.pending.size > 0) {
        await this.pass(await this.waitForOthers(all));
        // What another process reserved first is still pending.
        if (this.pending.size > 0) all = await this.readLog();
      }
    } catch (error) {
      for (const upload of this.pending) this.fail(upload, error);
    }
  }

  private async identify(files: readonly LocalFile[]): Promise<void> {
    const { http, signal } = this.deps;
    const uploads = new Map<string, Upload>();
    const hashing = files.map(async (file, index) => {
      try {
        return await this.limit(() => hashFile(file, signal));
      } catch (error) {
        this.report({ file, index }, null, { status: 'failed', error });
        return undefined;
      }
    });
    const hashes = await Promise.all(hashing);
    for (const [index, file] of files.entries()) {
      const sha256 = hashes[index];
      if (sha256 === undefined) continue;
      const data = { origin: http.baseUrl, kind: this.options.as, sha256, filename: file.filename };
      const upload = uploads.get(UPLOADS.keyOf(data)) ?? { data, file, copies: [], replaces: [] };
      uploads.set(UPLOADS.keyOf(data), upload);
      upload.copies.push({ file, index });
      this.pending.add(upload);
    }
  }

  private async readLog(): Promise<Standings> {
    return standings(await this.deps.log.read(), UPLOADS);
  }

  /** Waits until no other process that reserved one of the files can still send it. @returns the log after that */
  private async waitForOthers(all: Standings): Promise<Standings> {
    const owners = new Set<string>();
    for (const upload of this.pending) {
      const { open, live } = standingOf(all, UPLOADS.keyOf(upload.data));
      upload.replaces = live;
      for (const { id, isUnknown } of open) if (!isUnknown) owners.add(id);
    }
    if (this.options.dryRun || owners.size === 0) return all;
    await waitOutLeases(this.deps, UPLOADS, owners, { skipUnknown: true, onWait: this.deps.onWait });
    return await this.readLog();
  }

  private async pass(all: Standings): Promise<void> {
    const wanted: Upload[] = [];
    for (const upload of this.pending) {
      const next = this.decide(upload, all);
      if (next === 'create') wanted.push(upload);
      else this.settle(upload, next);
    }
    await this.create(wanted.filter(({ file }) => file.bytes <= MAX_BATCHED_BYTES));
    const large = wanted.filter(({ file }) => file.bytes > MAX_BATCHED_BYTES);
    await Promise.all(large.map((upload) => this.limit(() => this.create([upload]))));
  }

  private decide({ data, file }: Upload, all: Standings): Outcome | 'create' {
    const { force, retryUnknown, dryRun } = this.options;
    const { objects, open } = standingOf(all, UPLOADS.keyOf(data));
    const existing = objects.at(-1);
    if (existing && !force) return { status: 'skipped', id: existing.object };
    if (open.length > 0 && !retryUnknown) return { status: 'unknown', error: openError(file.label, open) };
    return dryRun ? { status: 'planned' } : 'create';
  }

  private async create(uploads: readonly Upload[]): Promise<void> {
    const signal = AbortSignal.any([this.deps.signal, this.stop.signal]);
    const deps = { ...this.deps, signal, concurrency: this.options.concurrency };
    try {
      await createOnce(deps, UPLOADS, uploads, {
        act: async ({ file }, { maySend }) => {
          try {
            return await this.send(file, { maySend });
          } catch (error) {
            if (stopsRun(error)) this.stop.abort(error);
            throw error;
          }
        },
        settled: (upload, result) => this.settleResult(upload, result),
      });
    } catch (error) {
      for (const upload of uploads) this.fail(upload, error);
    }
  }

  /** Sends a file, which may take any time while it makes progress. @returns the id of the upload */
  private async send(file: LocalFile, limits: OnceLimits): Promise<string> {
    const { http, onSent } = this.deps;
    const { filename, bytes } = file;
    const { default: mime } = await import('mime');
    const { as, contentType = mime.getType(filename) ?? 'application/octet-stream' } = this.options;
    async function* content(attemptEnded: AbortSignal) {
      let sent = 0;
      onSent(file, sent);
      for await (const chunk of readContent(file, attemptEnded)) {
        yield chunk;
        sent += chunk.length;
        onSent(file, sent);
      }
    }
    const name = fileFieldOf(as, http.contract);
    return await createUpload(http, as, formBody({ name, filename, contentType, bytes, content }), limits);
  }

  private settleResult(upload: Upload, result: Result<UploadIdentity>): void {
    const { label } = upload.file;
    if (result.kind === 'failed') this.settle(upload, { status: 'failed', error: result.error });
    if (result.kind === 'unknown') this.settle(upload, { status: 'unknown', error: lostError(label, result.error) });
    if (result.kind !== 'created') return;
    const { id, unrecorded } = result;
    const error = unrecorded === undefined ? undefined : unrecordedFileError(label, id, unrecorded);
    this.settle(upload, { status: 'uploaded', id, error });
  }

  private fail(upload: Upload, error: unknown): void {
    if (!this.pending.has(upload)) return;
    const isStopped = stopsRun(error) && error === this.stop.signal.reason;
    if (stopsRun(error)) this.stop.abort(error);
    this.settle(upload, { status: 'failed', error: isStopped ? new NotStarted(error) : error });
  }

  /** Reports what became of a file, and of its copies, which are not sent. */
  private settle(upload: Upload, outcome: Outcome): void {
    const ofCopies: Outcome = outcome.status === 'uploaded' ? { status: 'skipped', id: outcome.id ?? null } : outcome;
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
