import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { findId } from './fields.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';

/** What a file is uploaded as (spec §2). */
export type UploadKind = 'attachment' | 'document';

const RESOURCES = { attachment: 'file_attachment', document: 'document' } as const;

/** The field of a form that holds the file itself (assumption `upload.multipart`). */
export const FILE_FIELD = 'file';

/** Where an answer may keep what it is about. */
const LAYERS = ['data', 'result', 'results', 'file_attachments', 'documents', 'attachments', 'files'] as const;

/** Deeper than any answer that says one thing; what is deeper still would take more stack than there is. */
const DEEPEST = 8;

function layersOf(body: unknown, depth = 0): readonly JsonObject[] {
  if (depth > DEEPEST) return [];
  if (Array.isArray(body)) return body.length === 1 ? layersOf(body[0], depth + 1) : [];
  if (!isJsonObject(body)) return [];
  return [body, ...LAYERS.flatMap((name) => layersOf(body[name], depth + 1))];
}

/**
 * The id of what an upload created, in whatever an answer may wrap it (assumption `id.field`).
 * @throws UnknownShape when none can be made out, or the answer speaks of a failure
 */
export function readUploadId(body: unknown, kind: UploadKind): string {
  const layers = layersOf(body);
  rejectErrorInBody(body, layers, 'id.field');
  // A plain id around a file is the envelope's own, so the innermost object that has one counts.
  const candidates = [...layers.filter((layer) => `${RESOURCES[kind]}_id` in layer), ...layers.toReversed()];
  const id = candidates.map((layer) => findId(layer, RESOURCES[kind])).find((found) => found !== undefined);
  if (id !== undefined) return id;
  throw new UnknownShape('id.field', `No id of the ${kind} can be made out in the answer.`, describeJson(body));
}
