import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import { findId } from './plain-fields.ts';

/** The kind of resource that an upload creates (spec §2). */
export type UploadKind = 'attachment' | 'document';

const RESOURCES = { attachment: 'file_attachment', document: 'document' } as const;

/** The form field with the file itself (assumption `upload.multipart`). */
export const FILE_FIELD = 'file';

/** Keys under which a response may nest the resource. */
const ENVELOPES = ['data', 'result', 'results', 'file_attachments', 'documents', 'attachments', 'files'] as const;

/** Limits the recursion. No response with a single resource should be nested deeper. */
const MAX_DEPTH = 8;

function layersOf(body: unknown, depth = 0): readonly JsonObject[] {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(body)) return body.length === 1 ? layersOf(body[0], depth + 1) : [];
  if (!isJsonObject(body)) return [];
  return [body, ...ENVELOPES.flatMap((name) => layersOf(body[name], depth + 1))];
}

/**
 * Returns the id of the uploaded resource from any envelope (assumption `id.field`).
 * @throws UnknownShape if the response has no id or reports an error
 */
export function readUploadId(body: unknown, kind: UploadKind): string {
  const layers = layersOf(body);
  rejectErrorInBody(body, layers, 'id.field');
  // A plain `id` next to a nested file belongs to the envelope, so the innermost object with an id wins.
  const candidates = [...layers.filter((layer) => `${RESOURCES[kind]}_id` in layer), ...layers.toReversed()];
  const id = candidates.map((layer) => findId(layer, RESOURCES[kind])).find((found) => found !== undefined);
  if (id !== undefined) return id;
  throw new UnknownShape('id.field', `The response contains no id of the ${kind}.`, describeJson(body));
}
