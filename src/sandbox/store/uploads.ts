import * as v from 'valibot';

const uploadKindSchema = v.picklist(['document', 'file_attachment']);

/** What a file was uploaded as (spec §2). */
export type UploadKind = v.InferOutput<typeof uploadKindSchema>;

export const uploadRecordSchema = v.strictObject({
  upload_id: v.string(),
  as: uploadKindSchema,
  /** As the caller sent it; never the name of a file on this machine. */
  filename: v.string(),
  content_type: v.string(),
  bytes: v.number(),
  /** In hexadecimal. */
  sha256: v.string(),
  /** The other fields of the form as `[name, value]`, in their order; a name may come more than once. */
  fields: v.array(v.tuple([v.string(), v.string()])),
  created_at: v.string(),
});

/** A document or a file attachment (spec §2). Its bytes are a file of their own. */
export type UploadRecord = v.InferOutput<typeof uploadRecordSchema>;

/** Documents and file attachments, each in the order of creation. */
export class UploadTable {
  readonly #byId = new Map<string, UploadRecord>();
  readonly #byKind: Record<UploadKind, UploadRecord[]> = { document: [], file_attachment: [] };

  add(upload: UploadRecord): void {
    this.#byId.set(upload.upload_id, upload);
    this.#byKind[upload.as].push(upload);
  }

  get(uploadId: string): UploadRecord | undefined {
    return this.#byId.get(uploadId);
  }

  ofKind(kind: UploadKind): readonly UploadRecord[] {
    return this.#byKind[kind];
  }

  all(): Iterable<UploadRecord> {
    return this.#byId.values();
  }
}
