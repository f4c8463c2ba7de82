import type { StreamedBody } from '../api/streamed-body.ts';
import type { Clock } from '../clock.ts';
import type { Owner } from '../cron/history.ts';
import { LocalError, OutcomeUnknownError, PartnerctlError, provesNothingDone } from '../errors.ts';
import { type Sent, type UploadHistory, type UploadIdentity, type UploadRecord, uploadHistory } from './history.ts';
import { uploadKey } from './identity.ts';
import { createBody, hashContent, type UploadSource } from './upload-source.ts';

/** What uploading at most once needs of the world. */
export interface UploadParts {
  readonly origin: string;
  readonly kind: UploadIdentity['kind'];
  readonly ledger: {
    /** The records of a file name, in the order of the state file. @throws LocalError */
    read(filename: string): Promise<readonly UploadRecord[]>;
    /** @throws LocalError; the record may be there all the same */
    append(record: UploadRecord): Promise<void>;
  };
  readonly clock: Clock;
  readonly newId: () => string;
  readonly owner: Owner;
  /** Undefined where it cannot be told from here. */
  readonly hasEnded: (owner: Owner) => Promise<boolean | undefined>;
  /** @throws OutcomeUnknownError where it may have been created; any other PartnerctlError is proof that it was not */
  readonly post: (body: StreamedBody) => Promise<string>;
  /** Ends the reading of a file that is only to be known. */
  readonly ended: AbortSignal;
}

export interface UploadOptions {
  /** Upload what was uploaded, or may have been, anew. */
  readonly force: boolean;
  /** Upload again what may have been uploaded. */
  readonly retryUnknown: boolean;
}

export type UploadOutcome = { readonly sha256: string | null } & (
  | { readonly status: 'uploaded'; readonly id: string; readonly unrecorded?: unknown }
  | { readonly status: 'skipped'; readonly id: string }
  /** `error` is what this upload ended with; without one, an earlier run left it so. */
  | { readonly status: 'unknown'; readonly since: string; readonly error?: unknown }
  | { readonly status: 'failed'; readonly error: unknown }
);

/** Keeps the last bytes of a body back, because the file turns out to be there, or is being uploaded by another process. */
class Settled extends Error {
  readonly outcome: UploadOutcome;

  constructor(outcome: UploadOutcome) {
    super('settled');
    this.outcome = outcome;
  }
}

/** Another process is completing the file. */
class UnderWay extends LocalError {
  constructor({ at }: Sent) {
    super('Another process is uploading this file at this moment.', {
      why: `It began to complete it at ${at}.`,
      hint: 'Run it again once that is done; without --force it is skipped then.',
    });
  }
}

/** How long another process is waited for, and how often it is looked after. */
const PATIENCE_MS = 60_000;
const LOOK_AGAIN_MS = 500;

/** Of the records of a file name those at this service. */
function ofService(records: readonly UploadRecord[], { origin, kind }: UploadParts): readonly UploadRecord[] {
  return records.filter((record) => 'origin' in record && record.origin === origin && record.kind === kind);
}

/** The sha256 that the records have of a file that has not changed since. */
function stampedHash({ stamp }: UploadSource, records: readonly UploadRecord[]): string | undefined {
  if (stamp === null) return undefined;
  const stamped = records.findLast((record) => record.type === 'upload.done' && record.stamp === stamp);
  return stamped && 'sha256' in stamped ? stamped.sha256 : undefined;
}

/**
 * Uploads one file at most once. The service is not known to recognise a repeat, so the request is completed only once the
 * state file says, on disk, that it is about to be: killed at any point, a later run knows what may have arrived.
 */
class Upload {
  private readonly source: UploadSource;
  private readonly parts: UploadParts;
  private readonly options: UploadOptions;
  private readonly onProgress: (bytes: number) => void;
  private sent: Sent | undefined;
  /** Until that is on disk: an attempt may be over before, and the next one must not be completed before either. */
  private recording: Promise<void> | undefined;
  /** Of the content before it is sent, once it is known. */
  private hash: string | undefined;

  constructor(
    source: UploadSource,
    parts: UploadParts,
    options: UploadOptions,
    onProgress: (bytes: number) => void,
    hash: string | undefined,
  ) {
    this.source = source;
    this.parts = parts;
    this.options = options;
    this.onProgress = onProgress;
    this.hash = hash;
  }

  /** Another process that is about to complete the file is waited for: its end decides what is left to do. */
  async run(): Promise<UploadOutcome> {
    const { clock, ended } = this.parts;
    for (let patientUntil: number | undefined; ; ) {
      const outcome = await this.once();
      if (outcome.status !== 'failed' || !(outcome.error instanceof UnderWay)) return outcome;
      patientUntil ??= clock.now() + PATIENCE_MS;
      if (clock.now() >= patientUntil) return outcome;
      await clock.sleep(LOOK_AGAIN_MS, ended);
    }
  }

  private async once(): Promise<UploadOutcome> {
    this.sent = undefined;
    this.recording = undefined;
    const settled = await this.settledBefore(true);
    if (settled) return settled;
    const beforeLast = (sha256: string, over: AbortSignal) => this.announce(sha256, over);
    let id: string;
    try {
      id = await this.parts.post(createBody(this.source, { onProgress: this.onProgress, beforeLastBytes: beforeLast }));
    } catch (error) {
      return error instanceof Settled ? await this.keptBack(error.outcome) : await this.failed(error);
    }
    return await this.uploaded(id);
  }

  private identity(sha256: string): UploadIdentity {
    const { origin, kind } = this.parts;
    return { origin, kind, sha256, filename: this.source.filename };
  }

  private async records(): Promise<readonly UploadRecord[]> {
    return await this.parts.ledger.read(this.source.filename);
  }

  /**
   * Spares a file that the state file knows the way to the service.
   * @param remembers whether a file that had to be read to be known is to be known without that the next time
   */
  async settledBefore(remembers: boolean): Promise<UploadOutcome | undefined> {
    if (this.options.force && this.hash === undefined) return undefined;
    const records = await this.records();
    const mine = ofService(records, this.parts);
    if (mine.length === 0) return undefined;
    const recorded = stampedHash(this.source, mine);
    this.hash ??= recorded ?? (await hashContent(this.source, this.parts.ended));
    const sha256 = this.hash;
    const settled = await this.settledBy(records, sha256);
    if (remembers && settled?.status === 'skipped' && recorded === undefined && this.source.stamp !== null) {
      await this.remember(sha256, settled.id);
    }
    return settled;
  }

  /** So that the next run need not read the file; where that cannot be noted, it reads it. */
  private async remember(sha256: string, upload_id: string): Promise<void> {
    const { ledger } = this.parts;
    const { stamp } = this.source;
    const record = { ...this.head('upload.done', sha256), ...this.identity(sha256), sent: null, upload_id, stamp };
    try {
      await ledger.append(record);
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
    }
  }

  /** The open uploads of a key whose process is gone, and what the state file says once that is known. */
  private async look(
    records: readonly UploadRecord[],
    key: string,
  ): Promise<UploadHistory & { readonly abandoned: ReadonlySet<string> }> {
    const history = uploadHistory(records, key);
    const abandoned = new Set<string>();
    for (const { sent } of history.open) {
      if ((await this.parts.hasEnded(sent.owner)) !== false) abandoned.add(sent.id);
    }
    // Read again: before it was gone, a process may have recorded how it ended.
    return { ...(abandoned.size === 0 ? history : uploadHistory(await this.records(), key)), abandoned };
  }

  /** @param records of the file's name, as the state file has them */
  private async settledBy(records: readonly UploadRecord[], sha256: string): Promise<UploadOutcome | undefined> {
    const { force, retryUnknown } = this.options;
    const { done, open, abandoned } = await this.look(records, uploadKey(this.identity(sha256)));
    if (done && !force) return { status: 'skipped', sha256, id: done.upload_id };
    for (const { sent, unknown } of open) {
      // Of several that come this far at once the first one in the file goes on; it need not care for those after it.
      if (sent.id === this.sent?.id) break;
      const isOver = unknown !== undefined || abandoned.has(sent.id);
      if (!isOver) return { status: 'failed', sha256, error: new UnderWay(sent) };
      if (!retryUnknown && !force) return { status: 'unknown', sha256, since: sent.at };
    }
    return undefined;
  }

  private head<Type extends UploadRecord['type']>(type: Type, sha256: string) {
    const { clock, newId } = this.parts;
    return { type, id: newId(), at: new Date(clock.now()).toISOString(), key: uploadKey(this.identity(sha256)) };
  }

  private sentRecord(sha256: string): Sent {
    return { ...this.head('upload.sent', sha256), ...this.identity(sha256), owner: this.parts.owner };
  }

  /** Says in the state file that the file is about to be complete at the service, unless it need not be. */
  private async announce(sha256: string, over: AbortSignal): Promise<void> {
    this.hash = sha256;
    const settled = await this.settledBy(await this.records(), sha256);
    if (settled) throw new Settled(settled);
    if (over.aborted) return;
    this.sent ??= this.sentRecord(sha256);
    this.recording ??= this.parts.ledger.append(this.sent);
    await this.recording;
    // Another process may have come as far since the file was read, and even to its end.
    const meanwhile = await this.settledBy(await this.records(), sha256);
    if (meanwhile) throw new Settled(meanwhile);
  }

  /** The last bytes were never sent. */
  private async keptBack(outcome: UploadOutcome): Promise<UploadOutcome> {
    await this.end('upload.released', 'not_sent');
    return outcome;
  }

  private async end(type: 'upload.released' | 'upload.unknown', why: string): Promise<void> {
    if (!this.sent) return;
    const { sha256, filename, id } = this.sent;
    // What it ends comes first in the file; where that could not be written, it may be there all the same.
    await this.recording?.catch(() => undefined);
    try {
      await this.parts.ledger.append({ ...this.head(type, sha256), sent: id, filename, why });
    } catch (error) {
      // Without that record it counts as unknown from the next run on.
      if (!(error instanceof LocalError)) throw error;
    }
  }

  private async failed(error: unknown): Promise<UploadOutcome> {
    // An answer that cannot be read may come before the form is closed, and so before the state file was told.
    if (error instanceof OutcomeUnknownError) this.sent ??= await this.sentAfterAll();
    const sha256 = this.sent?.sha256 ?? null;
    const status = error instanceof PartnerctlError ? error.info.status : undefined;
    const why = status === undefined ? 'no_answer' : `http_${status}`;
    const mayBeThere = this.sent !== undefined || error instanceof OutcomeUnknownError;
    if (provesNothingDone(error) || !mayBeThere) {
      await this.end('upload.released', why);
      return { status: 'failed', sha256, error };
    }
    await this.end('upload.unknown', why);
    return { status: 'unknown', sha256, since: this.sent?.at ?? new Date(this.parts.clock.now()).toISOString(), error };
  }

  /** @returns undefined where the file cannot be read any more, so that nothing can be recorded of it */
  private async sentAfterAll(): Promise<Sent | undefined> {
    const sha256 = await this.sha256().catch(() => undefined);
    if (sha256 === undefined) return undefined;
    const sent = this.sentRecord(sha256);
    try {
      await this.parts.ledger.append(sent);
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
    }
    return sent;
  }

  /** What was sent is read to its end also when the run is over: the next one has to know it. */
  private async sha256(): Promise<string> {
    return this.hash ?? (await hashContent(this.source, new AbortController().signal));
  }

  private async uploaded(id: string): Promise<UploadOutcome> {
    const { stamp } = this.source;
    let sha256: string | null = null;
    try {
      // A service may answer before the form is closed, and so before the state file was told.
      sha256 = await this.sha256();
      const done = { ...this.head('upload.done', sha256), ...this.identity(sha256) };
      await this.parts.ledger.append({ ...done, sent: this.sent?.id ?? null, upload_id: id, stamp });
      return { status: 'uploaded', sha256, id };
    } catch (error) {
      // Whatever keeps it from being recorded: the id is told.
      return { status: 'uploaded', sha256, id, unrecorded: error };
    }
  }
}

/**
 * What a file is known by: the sha256 that the state file has of it, where it has not changed since, else that of its content.
 * @throws LocalError when the state file or the file cannot be read
 */
export async function identify(source: UploadSource, parts: UploadParts): Promise<string> {
  const records = await parts.ledger.read(source.filename);
  return stampedHash(source, ofService(records, parts)) ?? (await hashContent(source, parts.ended));
}

/**
 * Uploads a file unless it is there, or may be.
 * @param onProgress told how many bytes of the file were taken so far; begins again at 0 with every attempt
 * @param hash what `identify` said of it, where that was asked
 * @returns what became of it; a failure is a result
 * @throws LocalError when the state file or the file cannot be read; nothing was sent then
 */
export async function uploadOnce(
  source: UploadSource,
  parts: UploadParts,
  options: UploadOptions,
  onProgress: (bytes: number) => void,
  hash?: string,
): Promise<UploadOutcome> {
  return await new Upload(source, parts, options, onProgress, hash).run();
}

/** What is known of a file without sending it: `undefined` where it would be uploaded. */
export async function lookUpUpload(
  source: UploadSource,
  parts: UploadParts,
  options: UploadOptions,
  hash?: string,
): Promise<UploadOutcome | undefined> {
  return await new Upload(source, parts, options, () => undefined, hash).settledBefore(false);
}
