import type { Contract } from './contract.ts';
import { readCreated } from './resource.ts';

/** The kind of resource that an upload creates (spec §2). */
export type UploadKind = 'attachment' | 'document';

function createdBy(kind: UploadKind): 'file_attachment' | 'document' {
  return kind === 'attachment' ? 'file_attachment' : kind;
}

/** Returns the name of the form field with the file itself. */
export function fileFieldOf(kind: UploadKind, contract: Contract): string {
  return contract.parameter(`${createdBy(kind)}s.create.file`)?.path[0] ?? 'file';
}

/** Returns the id of the uploaded resource (spec §4.7). @throws UnknownShape as `readCreated` */
export function readUploadId(body: unknown, kind: UploadKind, contract: Contract): string {
  return readCreated(body, createdBy(kind), contract).id;
}
