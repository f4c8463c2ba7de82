import type { Contract } from './contract.ts';
import { fieldsOf } from './fields.ts';
import { describeJson, isJsonObject } from './json.ts';
import { findResource, layersOf } from './resource.ts';
import { rejectErrorInBody, UnknownShape } from './unknown-shape.ts';

/** The kind of resource that an upload creates (spec §2). */
export type UploadKind = 'attachment' | 'document';

const RESOURCES = { attachment: 'file_attachment', document: 'document' } as const;
const IDS = { attachment: 'file_attachment.id', document: 'document.id' } as const;
const FILES = { attachment: 'file_attachments.create.file', document: 'documents.create.file' } as const;

/** Returns the name of the form field with the file itself. */
export function fileFieldOf(kind: UploadKind, contract: Contract): string {
  return contract.parameter(FILES[kind])?.path[0] ?? 'file';
}

/**
 * Returns the id of the uploaded resource (spec §4.7).
 * @throws UnknownShape if the response has no id or reports an error
 */
export function readUploadId(body: unknown, kind: UploadKind, contract: Contract): string {
  const layers = layersOf(body, RESOURCES[kind]);
  rejectErrorInBody(body, layers, 'id.field');
  const found = findResource(layers, RESOURCES[kind], IDS[kind], contract);
  if (found) return found.id;
  const message = `The response contains no id of the ${kind}.`;
  if (isJsonObject(body)) throw fieldsOf(body, RESOURCES[kind], contract).unreadable(IDS[kind], message);
  throw new UnknownShape('id.field', message, describeJson(body));
}
