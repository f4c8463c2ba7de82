import { hash } from 'node:crypto';
import pLimit from 'p-limit';
import * as v from 'valibot';
import { createUpload, type OnceLimits } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { formBody } from '../api/streamed-body.ts';
import { fileFieldOf, type UploadKind } from '../contract/resources.ts';
import { stopsRun } from '../errors.ts';
import { ensureOnce, type Feature } from '../state/ensure-once.ts';
import type { Creation, OnceDeps } from '../state/reserve-and-send.ts';
import type { OnceKind, Reservation } from '../state/standing.ts';
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

const UPLOAD_KIND: OnceKind<UploadIdentity> = {
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

export interface UploadDeps extends Omit<OnceDeps, 'concurrency'> {
  readonly http: Http;
  /** Receives how much of a file the connection has accepted; 0 when an attempt starts. */
  readonly onSent: (file: LocalFile, bytes: number) => void;
  readonly onResult: (result: UploadResult) => void;
}

interface Upload {
  readonly data: UploadIdentity;
  readonly file: LocalFile;
  /** The file, and others of the same name and content, with their positions in the input. */
  readonly copies: { readonly index: number; readonly file: LocalFile }[];
}

/** Smaller files are reserved together before any of them is sent: even a slow line sends them within a lease. */
const MAX_BATCHED_BYTES = 128 * 1024;

/** Judges files by the log, and sends them. The API has no list of uploads. */
function uploadFeature(options: UploadOptions, deps: UploadDeps): Feature<Upload, UploadIdentity, Outcome> {
  const { force, retryUnknown, dryRun } = options;
  return {
    kind: UPLOAD_KIND,
    async judge(uploads, standings) {
      const settled: [Upload, Outcome][] = [];
      const wait: Reservation<UploadIdentity>[] = [];
      const create: Creation<Upload, UploadIdentity>[] = [];
      for (const upload of uploads) {
        const { data, file } = upload;
        const { objects, open, live } = standings.of(UPLOAD_KIND.keyOf(data));
        const [existing, owners] = [objects.at(-1), open.filter(({ isUnknown }) => !isUnknown)];
        if (existing && !force) settled.push([upload, { status: 'skipped', id: existing.object }]);
        else if (owners.length > 0 && !dryRun) wait.push(...owners);
        else if (open.length > 0 && !retryUnknown) {
          settled.push([upload, { status: 'unknown', error: openError(file.label, open) }]);
        } else if (dryRun) settled.push([upload, { status: 'planned' }]);
        else create.push({ wanted: upload, data, replaces: live });
      }
      return { settled, wait, create };
    },
    post: ({ file }, { maySend }) => send(file, options, deps, { maySend }),
    isLarge: ({ file }) => file.bytes > MAX_BATCHED_BYTES,
    toOutcome({ file }, ending) {
      if (ending.kind === 'failed') return { status: 'failed', error: ending.error };
      if (ending.kind === 'unknown') return { status: 'unknown', error: lostError(file.label, ending.error) };
      if (ending.kind === 'unsent') {
        const isTold = ending.isTold && stopsRun(ending.error);
        return { status: 'failed', error: isTold ? new NotStarted(ending.error) : ending.error };
      }
      const { id, unrecorded } = ending;
      const error = unrecorded === undefined ? undefined : unrecordedFileError(file.label, id, unrecorded);
      return { status: 'uploaded', id, error };
    },
  };
}

/** Sends a file, which may take any time while it makes progress. @returns the id of the upload */
async function send(
  file: LocalFile,
  { as, contentType: type }: UploadOptions,
  { http, onSent }: UploadDeps,
  limits: OnceLimits,
): Promise<string> {
  const { filename, bytes } = file;
  const { default: mime } = await import('mime');
  const contentType = type ?? mime.getType(filename) ?? 'application/octet-stream';
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

/** Hashes the files. @returns those of one name and content together @param onFailure called for one that cannot be read */
async function identify(
  files: readonly LocalFile[],
  { as: kind, concurrency }: UploadOptions,
  { http, signal }: UploadDeps,
  onFailure: (index: number, file: LocalFile, error: unknown) => void,
): Promise<readonly Upload[]> {
  const limit = pLimit(concurrency);
  const hashing = files.map((file, index) =>
    limit(() => hashFile(file, signal)).catch((error: unknown) => onFailure(index, file, error)),
  );
  const hashes = await Promise.all(hashing);
  const uploads = new Map<string, Upload>();
  for (const [index, file] of files.entries()) {
    const sha256 = hashes[index];
    if (sha256 === undefined) continue;
    const data = { origin: http.baseUrl, kind, sha256, filename: file.filename };
    const key = UPLOAD_KIND.keyOf(data);
    const upload = uploads.get(key) ?? { data, file, copies: [] };
    uploads.set(key, upload);
    upload.copies.push({ file, index });
  }
  return [...uploads.values()];
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
  const report = (index: number, file: LocalFile, sha256: string | null, outcome: Outcome): void => {
    const { status, id = null, error } = outcome;
    const { label, bytes } = file;
    deps.onResult({ index, file: label, as: options.as, id, bytes, sha256, status, error });
  };
  const uploads = await identify(files, options, deps, (index, file, error) =>
    report(index, file, null, { status: 'failed', error }),
  );
  const { concurrency } = options;
  await ensureOnce({ ...deps, concurrency }, uploadFeature(options, deps), uploads, ({ copies, data }, outcome) => {
    // Copies are not sent.
    const ofCopies: Outcome = outcome.status === 'uploaded' ? { status: 'skipped', id: outcome.id ?? null } : outcome;
    for (const [position, { index, file }] of copies.entries()) {
      report(index, file, data.sha256, position === 0 ? outcome : ofCopies);
    }
  });
}
