import type { Owner } from '../cron/history.ts';

/** What makes an upload the same as another one. */
export interface UploadIdentity {
  /** The base address of the service. */
  readonly origin: string;
  readonly kind: 'attachment' | 'document';
  readonly sha256: string;
  readonly filename: string;
}

interface Head {
  /** Random, the record's own. */
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
  /** See `uploadKey`. */
  readonly key: string;
}

/** Written when all but the last bytes of a file were sent, before those are. */
export interface Sent extends Head, UploadIdentity {
  readonly type: 'upload.sent';
  readonly owner: Owner;
}

/** An answered id. */
interface Uploaded extends Head, UploadIdentity {
  readonly type: 'upload.done';
  /** The record that it ends. */
  readonly sent: string | null;
  readonly upload_id: string;
  /** The file as it was on this machine, so that it need not be read again to be known: see `fileStamp`. */
  readonly stamp: string | null;
}

/** How a sent file ended without an id: on proof that nothing was made (`released`), or with an open end (`unknown`). */
interface Ended extends Head {
  readonly type: 'upload.released' | 'upload.unknown';
  readonly sent: string;
  /** For the look-up by name. */
  readonly filename: string;
  /** A short code, never a text of the service. */
  readonly why: string;
}

export type UploadRecord = Sent | Uploaded | Ended;

export interface UploadHistory {
  /** The last answered upload. */
  readonly done: Uploaded | undefined;
  /** Sent, and nothing is known of the outcome; in the order of the file. */
  readonly open: readonly { readonly sent: Sent; readonly unknown: Ended | undefined }[];
}

/**
 * What records say of one key. An answered id counts, whatever else was recorded.
 * @param all of the records of a file name, or more, in the order of the file
 */
export function uploadHistory(all: readonly UploadRecord[], key: string): UploadHistory {
  const records = all.filter((record) => record.key === key);
  const ended = new Set<string>();
  const unknown = new Map<string, Ended>();
  for (const record of records) {
    if (record.type === 'upload.unknown') unknown.set(record.sent, record);
    else if (record.type !== 'upload.sent' && record.sent !== null) ended.add(record.sent);
  }
  const sent = records.filter((record) => record.type === 'upload.sent');
  return {
    done: records.findLast((record) => record.type === 'upload.done'),
    open: sent.filter(({ id }) => !ended.has(id)).map((each) => ({ sent: each, unknown: unknown.get(each.id) })),
  };
}
