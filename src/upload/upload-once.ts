import type { StreamedBody } from '../api/streamed-body.ts';
import type { InTurn } from '../api/take-turns.ts';
import { startStopwatch } from '../clock.ts';
import { LocalError, OutcomeUnknownError } from '../errors.ts';
import { LateTurn } from '../state-old/late-turn.ts';
import { type KeyState, type OnceDeps, readKey, runOnce } from '../state-old/once.ts';
import { type Reservation, stampRecord } from '../state-old/once-records.ts';
import { fieldsText } from '../state-old/record.ts';
import { type UploadIdentity, type UploadRecord, type UploadSnapshot, uploadKey } from './upload-records.ts';
import { createBody, hashContent, type UploadSource } from './upload-source.ts';

/** What `uploadOnce` needs. */
export interface UploadDeps extends OnceDeps<UploadSnapshot> {
  /** The base URL of the service. */
  readonly origin: string;
  readonly kind: UploadIdentity['kind'];
  /** The name of the form field with the file; `file` by default. */
  readonly fileField?: string;
  /** @throws OutcomeUnknownError if the upload may have been created; any other PartnerctlError proves that it was not */
  readonly post: (body: StreamedBody) => Promise<string>;
  /** Limits how many files are sent at once; more may be reserved. */
  readonly inTurn: InTurn;
  /** Whether to reserve a file before any of it is sent, together with others, rather than before its last bytes. */
  readonly reservesFirst: boolean;
  /** Whether machines share the state: stamps are valid only on one machine. */
  readonly isShared: boolean;
  /** Aborts the wait for another process, and the hashing of a file that is not being sent. */
  readonly abortSignal: AbortSignal;
}

export interface UploadOptions {
  /** Whether to upload files again that were, or may have been, uploaded. */
  readonly force: boolean;
  /** Whether to upload files again that may have been uploaded. */
  readonly retryUnknown: boolean;
}

/** A file to upload. */
export interface UploadRequest extends UploadOptions {
  readonly source: UploadSource;
}

export type UploadOutcome = { readonly sha256: string | null } & (
  | { readonly status: 'uploaded'; readonly id: string; readonly unrecorded?: unknown; readonly recoveryPath?: string }
  | { readonly status: 'skipped'; readonly id: string }
  /** `error` is the failure of this upload; undefined if an earlier run left the outcome unknown. */
  | { readonly status: 'unknown'; readonly since: string; readonly error?: unknown }
  | { readonly status: 'failed'; readonly error: unknown }
);

class UploadInProgress extends LocalError {
  constructor({ at }: Reservation<UploadSnapshot>) {
    super('Another process is uploading this file.', {
      why: `It reserved the upload at ${at}.`,
      hint: 'Run the command again when it is done. Without --force, the file is then skipped.',
    });
  }
}

/** How long to wait for another process, and how often to read the log. */
const WAIT_MS = 60_000;
const POLL_MS = 500;
/**
 * How long a reserved file may wait for its turn. Then it is reserved again: another process may have ended the
 * reservation.
 */
const MAX_QUEUED_MS = 60_000;

/** The ledger index of a file name. The key needs the hash of the file, which may not be known yet. */
export function filenameIndex(filename: string): string {
  return `filename:${filename}`;
}

/** One upload. Its hash is set once it is known. */
interface Upload extends UploadRequest {
  readonly deps: UploadDeps;
  hash: string | undefined;
}

function toSnapshot({ source, deps }: Upload, sha256: string): UploadSnapshot {
  const { origin, kind } = deps;
  return { origin, kind, sha256, filename: source.filename, stamp: source.stamp };
}

/** The records of uploads of this file name to this service. */
async function readRecords({ filename }: UploadSource, { ledger, origin, kind }: UploadDeps): Promise<UploadRecord[]> {
  const records = await ledger.read(filenameIndex(filename));
  return records.filter(
    (record) => 'snapshot' in record && record.snapshot.origin === origin && record.snapshot.kind === kind,
  );
}

/** The recorded SHA-256 of a file that has not changed since. */
function stampedHash({ stamp }: UploadSource, records: readonly UploadRecord[]): string | undefined {
  if (stamp === null) return undefined;
  const stamped = records.findLast((record) => record.kind === 'created' && record.snapshot.stamp === stamp);
  return stamped && 'snapshot' in stamped ? stamped.snapshot.sha256 : undefined;
}

/** The outcome by the records of a key; undefined to upload the file. @param reservationId of this run, if any */
function outcomeOfKey(
  { force, retryUnknown }: UploadOptions,
  sha256: string,
  { objects, open }: KeyState<UploadSnapshot>,
  reservationId?: string,
): UploadOutcome | undefined {
  const last = objects.at(-1);
  if (last && !force) return { status: 'skipped', sha256, id: last.remoteId };
  for (const { reservation, isAbandoned } of open) {
    // If several processes reserve at once, the first reservation in the log wins.
    if (reservation.id === reservationId) return undefined;
    if (!isAbandoned) return { status: 'failed', sha256, error: new UploadInProgress(reservation) };
    if (!retryUnknown && !force) return { status: 'unknown', sha256, since: reservation.at };
  }
  return undefined;
}

/** The outcome if a damaged line may be about the upload; undefined to upload the file. */
function outcomeOfDamagedLine(upload: Upload): UploadOutcome | undefined {
  const { deps, force, retryUnknown, hash: sha256 = '' } = upload;
  if (force || retryUnknown) return undefined;
  const { filename } = upload.source;
  const texts = [fieldsText({ sha256, filename })];
  const [line] = deps.ledger.blockingLines({ keys: [uploadKey(toSnapshot(upload, sha256))], texts });
  if (!line) return undefined;
  const error = new OutcomeUnknownError('The state has a line that may be the record of this upload.', {
    why: `Line ${line.line} of the state cannot be used: ${line.why}.`,
  });
  return { status: 'unknown', sha256, since: new Date(deps.clock.now()).toISOString(), error };
}

/** Records the file's stamp, so that the next run does not read the file. A failure does not matter. */
async function rememberStamp(upload: Upload, sha256: string, remoteId: string): Promise<void> {
  const snapshot = toSnapshot(upload, sha256);
  const head = { ...stampRecord(upload.deps), key: uploadKey(snapshot) };
  try {
    await upload.deps.ledger.append({ kind: 'created', ...head, snapshot, reservation: null, remoteId });
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
  }
}

/** Hashes the file. Limits how many are hashed at once, because each needs memory. */
function hashInTurn({ source, deps }: Upload): Promise<string> {
  return deps.inTurn(() => hashContent(source, deps.abortSignal));
}

/** The outcome by the log before anything is sent; undefined to upload the file. */
async function outcomeFromLog(upload: Upload, isDryRun: boolean): Promise<UploadOutcome | undefined> {
  const { source, deps, force } = upload;
  if (force && upload.hash === undefined) return undefined;
  const records = await readRecords(source, deps);
  if (records.length === 0) return undefined;
  const recorded = stampedHash(source, records);
  upload.hash ??= recorded ?? (await hashInTurn(upload));
  const sha256 = upload.hash;
  const outcome = outcomeOfKey(upload, sha256, await readKey(uploadKey(toSnapshot(upload, sha256)), deps));
  const isNewStamp = !deps.isShared && source.stamp !== null && recorded === undefined;
  if (!isDryRun && outcome?.status === 'skipped' && isNewStamp) await rememberStamp(upload, sha256, outcome.id);
  return outcome;
}

/** Reserves and sends the file. @returns the id of the upload */
async function send(upload: Upload, commit: () => Promise<void>, onProgress: (bytes: number) => void): Promise<string> {
  const { source, deps } = upload;
  const { fileField, reservesFirst, clock } = deps;
  if (reservesFirst) {
    upload.hash ??= await hashInTurn(upload);
    await commit();
  }
  const elapsed = startStopwatch(clock);
  async function beforeLastBytes(hash: string): Promise<void> {
    if (reservesFirst && hash !== upload.hash) {
      throw new LocalError(`${source.label} changed before it was uploaded.`, {
        hint: 'The upload was not completed. Wait until nothing writes to the file.',
      });
    }
    upload.hash = hash;
    // A run that is killed before the last bytes has uploaded nothing.
    if (!reservesFirst) await commit();
  }
  return await deps.inTurn(() => {
    if (reservesFirst && elapsed() > MAX_QUEUED_MS) throw new LateTurn(`${source.label} was uploaded`);
    return deps.post(createBody(source, { fileField, onProgress, beforeLastBytes }));
  });
}

async function tryUpload(upload: Upload, onProgress: (bytes: number) => void): Promise<UploadOutcome> {
  const { source, deps } = upload;
  const known = await outcomeFromLog(upload, false);
  if (known) return known;
  const task = {
    async describe() {
      // Even if the run was aborted: the next run must know what was sent.
      upload.hash ??= await hashContent(source, new AbortController().signal);
      const snapshot = toSnapshot(upload, upload.hash);
      return { key: uploadKey(snapshot), snapshot, deadline: null, remoteIdsSeen: null };
    },
    objection: (state: KeyState<UploadSnapshot>, reservationId: string | undefined) =>
      outcomeOfKey(upload, upload.hash ?? '', state, reservationId) ?? outcomeOfDamagedLine(upload),
  };
  try {
    const result = await runOnce(task, deps, (commit) => send(upload, commit, onProgress));
    const sha256 = upload.hash ?? null;
    switch (result.kind) {
      case 'created': {
        const { remoteId: id, unrecorded } = result;
        const { error, recoveryPath } = unrecorded ?? {};
        const failure = {
          ...(unrecorded && { unrecorded: error }),
          ...(recoveryPath !== undefined && { recoveryPath }),
        };
        return { status: 'uploaded', sha256, id, ...failure };
      }
      case 'refused':
        return result.objection;
      case 'unknown':
        return { status: 'unknown', sha256, since: result.since, error: result.error };
      case 'failed':
        return { status: 'failed', sha256, error: result.error };
    }
  } catch (error) {
    return { status: 'failed', sha256: upload.hash ?? null, error };
  }
}

/**
 * Uploads a file unless it was, or may have been, uploaded. The service may not recognize a repeat, so the request is
 * completed only once a reservation is on disk: if this run is killed, a later run knows what may have arrived.
 * @param onProgress gets the bytes of the file sent so far; 0 again when an attempt starts
 * @returns the outcome, including failures
 * @throws LocalError before anything is sent, if the state or the file cannot be read
 */
export async function uploadOnce(
  request: UploadRequest,
  deps: UploadDeps,
  onProgress: (bytes: number) => void,
): Promise<UploadOutcome> {
  const { clock, abortSignal } = deps;
  const upload: Upload = { ...request, deps, hash: undefined };
  for (let waitUntil: number | undefined; ; ) {
    const outcome = await tryUpload(upload, onProgress);
    if (outcome.status === 'failed' && outcome.error instanceof LateTurn) continue;
    // Wait for the other process: its outcome decides.
    if (outcome.status !== 'failed' || !(outcome.error instanceof UploadInProgress)) return outcome;
    waitUntil ??= clock.monotonic() + WAIT_MS;
    if (clock.monotonic() >= waitUntil) return outcome;
    await clock.sleep(POLL_MS, abortSignal);
  }
}

/** Returns the outcome of a file without sending it; undefined if it would be uploaded. */
export async function lookUpUpload(request: UploadRequest, deps: UploadDeps): Promise<UploadOutcome | undefined> {
  return await outcomeFromLog({ ...request, deps, hash: undefined }, true);
}
