import type { StreamedBody } from '../../../src/api/streamed-body.ts';
import { CredentialsError, LocalError, OutcomeUnknownError, RefusedError, ServiceError } from '../../../src/errors.ts';
import { fromLogRecord, type Ledger, openLedger } from '../../../src/state-old/ledger.ts';
import type { Owner } from '../../../src/state-old/once-records.ts';
import type { LogRecord, NewRecord } from '../../../src/state-old/record.ts';
import {
  filenameIndex,
  type UploadDeps,
  type UploadOptions,
  type UploadOutcome,
  uploadOnce,
} from '../../../src/upload/upload-once.ts';
import {
  UPLOAD_RECORDS,
  type UploadRecord,
  type UploadSnapshot,
  uploadKey,
} from '../../../src/upload/upload-records.ts';
import { textSource, type UploadSource } from '../../../src/upload/upload-source.ts';

/*
 * The engine that uploads files, as the model sees it. Of the model's files, only this one imports the product: another engine
 * needs another one of these, and neither another world nor other scenarios.
 */

export type { LogRecord, Owner, StreamedBody, UploadOptions, UploadOutcome, UploadRecord, UploadSource };

const ORIGIN = 'https://api.partner.test/v1';

/** @param hash the SHA-256 of the content */
export function keyOf({ filename }: UploadSource, hash: string): string {
  return uploadKey({ origin: ORIGIN, kind: 'attachment', sha256: hash, filename });
}

/** The failures that a run meets. */
export const failures = {
  diskFull: () => new LocalError('The disk is full.'),
  unauthorized: () => new CredentialsError('No.', { status: 401 }),
  unreachable: () => new ServiceError('The service cannot be reached.'),
  refused: () => new RefusedError('Not that.', { status: 422 }),
  lost: () => new OutcomeUnknownError('Lost.'),
};

/** What a record of the log says of an upload; undefined for other records. */
export function uploadRecordOf(record: LogRecord): UploadRecord | undefined {
  return fromLogRecord(record, UPLOAD_RECORDS);
}

/** An in-memory file, in one part. */
export function memorySource(filename: string, text: string, stamp: string | null = null): UploadSource {
  return { ...textSource(filename, text), stamp };
}

/**
 * The records of uploads in an in-memory log.
 * @param write appends a record to the log
 * @param beforeRead awaited whenever the log is read
 */
export function memoryLedger(
  log: readonly LogRecord[],
  write: (record: LogRecord) => Promise<void>,
  beforeRead: () => Promise<void> = async () => undefined,
): Ledger<UploadSnapshot> {
  let position = 0;
  const store = {
    append: (record: NewRecord) => write(JSON.parse(JSON.stringify(record))),
    async *readNew() {
      await beforeRead();
      const added = log.slice(position);
      position += added.length;
      for (const record of added) yield { kind: 'record' as const, line: position, record };
    },
  };
  return openLedger(store, UPLOAD_RECORDS, {
    indexName: (record) => ('snapshot' in record ? filenameIndex(record.snapshot.filename) : undefined),
    onUnusable: async ({ why }) => {
      throw new TypeError(why);
    },
  });
}

/** What a run of the program needs of the world around it. */
export interface Surroundings {
  readonly owner: Owner;
  readonly clock: UploadDeps['clock'];
  readonly log: readonly LogRecord[];
  readonly reservesFirst: boolean;
  newId(): string;
  hasEnded(owner: Owner): Promise<boolean | undefined>;
  append(record: LogRecord): Promise<void>;
  beforeRead(): Promise<void>;
  /** @returns the id of the upload */
  post(body: StreamedBody): Promise<string>;
}

/** Uploads a file in one run of the program. */
export function upload(source: UploadSource, options: UploadOptions, around: Surroundings): Promise<UploadOutcome> {
  const deps: UploadDeps = {
    origin: ORIGIN,
    kind: 'attachment',
    ledger: memoryLedger(around.log, around.append, around.beforeRead),
    clock: around.clock,
    newId: around.newId,
    owner: around.owner,
    hasEnded: around.hasEnded,
    post: around.post,
    inTurn: (send) => send(),
    reservesFirst: around.reservesFirst,
    isShared: false,
    abortSignal: new AbortController().signal,
  };
  return uploadOnce({ ...options, source }, deps, () => undefined);
}
