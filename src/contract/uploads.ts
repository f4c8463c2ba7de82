import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import type { Contract, Leaf } from './contract.ts';
import { fieldsOf } from './fields.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import { type FoundResource, findResource, kindsOf, layersOf } from './resource.ts';

/** The kind of resource that an upload creates (spec §2). */
export type UploadKind = 'attachment' | 'document';

const RESOURCES = { attachment: 'file_attachment', document: 'document' } as const;
const IDS = { attachment: 'file_attachment.id', document: 'document.id' } as const;
const FILES = { attachment: 'file_attachments.create.file', document: 'documents.create.file' } as const;

/** Returns the name of the form field with the file itself. */
export function fileFieldOf(kind: UploadKind, contract: Contract): string {
  return contract.parameter(FILES[kind])?.path[0] ?? 'file';
}

const WRITES = {
  attachment: ['file_attachments.create', 'file_attachments.create.file'],
  document: ['documents.create', 'documents.create.file'],
} as const;

/** Returns the leaves of an upload that are only assumed for this service. */
export function assumedLeaves(kind: UploadKind, contract: Contract): readonly Leaf[] {
  return WRITES[kind].map((name) => contract.leaf(name)).filter(({ source }) => source === 'assumed');
}

/**
 * Finds the uploaded resource. Some services return a document as the file that was sent: `{ files: [{ document_id }] }`,
 * `{ file: { id } }`, or `{ file_id }`. What is a document otherwise wins, because a document may have a file.
 * @param inFile the layers of the response as that of a file
 */
function findUpload(
  layers: readonly JsonObject[],
  inFile: readonly JsonObject[],
  kind: UploadKind,
  contract: Contract,
): FoundResource | undefined {
  const found = findResource(layers, RESOURCES[kind], IDS[kind], contract);
  if (kind === 'attachment' || found?.fields.ownId(IDS.document) !== undefined) return found;
  const document = findResource(inFile, RESOURCES.document, IDS.document, contract);
  if (document?.fields.ownId(IDS.document) !== undefined) return document;
  return found ?? document ?? findResource(inFile, RESOURCES.attachment, IDS.attachment, contract);
}

/**
 * Returns the id of the uploaded resource from any common envelope (assumption `id.field`).
 * @throws UnknownShape if the response has no id or reports an error
 */
export function readUploadId(body: unknown, kind: UploadKind, contract: Contract): string {
  const layers = layersOf(body, RESOURCES[kind], true);
  const inFile = layersOf(body, RESOURCES.attachment, true);
  rejectErrorInBody(body, [...layers, ...inFile], 'id.field');
  const found = findUpload(layers, inFile, kind, contract);
  // The id of the operation that processes a file is not that of the file.
  const isOperation = found && kindsOf(found, body).some((each) => each.endsWith('operation'));
  if (found && (!isOperation || found.fields.ownId(IDS[kind]) !== undefined)) return found.id;
  const message = `The response contains no id of the ${kind}.`;
  if (isJsonObject(body)) throw fieldsOf(body, RESOURCES[kind], contract).unreadable(IDS[kind], message);
  throw new UnknownShape('id.field', message, describeJson(body));
}
