import { UnknownShape } from './assumptions.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';

/** The id field of every resource whose id the tool reads (spec §2). */
const ID_FIELDS = {
  space: 'space_id',
  agent: 'agent_id',
  source: 'source_id',
  message: 'message_id',
  cron_job: 'cron_job_id',
  document: 'document_id',
  file_attachment: 'file_attachment_id',
} as const;

export type Resource = keyof typeof ID_FIELDS;

/** What `ApiResponse` puts in place of a secret that the service sends back. It identifies nothing. */
const REDACTED = '[redacted]';

function asId(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' || value.includes(REDACTED) ? undefined : value;
  if (typeof value === 'bigint') return String(value);
  return Number.isInteger(value) ? String(value) : undefined;
}

/** Alternative keys for a nested resource: the service's path calls a job partner-cron-job. */
const OTHER_NAMES: { readonly [name in Resource]?: readonly string[] } = {
  cron_job: ['partner_cron_job'],
  file_attachment: ['attachment', 'file'],
};

/** Returns the object itself, followed by the one nested under the resource's name, if any. */
function layers(object: JsonObject, resource: Resource): readonly JsonObject[] {
  const nested = [resource, ...(OTHER_NAMES[resource] ?? [])].map((name) => object[name]).find(isJsonObject);
  return nested ? [object, nested] : [object];
}

/**
 * Returns the id of a resource in a response object as a string, or undefined (assumption `id.field`). A field such as
 * `space_id` wins over a plain `id`, at either level.
 */
export function findId(object: JsonObject, resource: Resource): string | undefined {
  const places = layers(object, resource);
  for (const field of [ID_FIELDS[resource], 'id']) {
    // A plain id next to a nested resource belongs to the envelope.
    for (const place of field === 'id' ? [...places].reverse() : places) {
      const id = asId(place[field]);
      if (id !== undefined) return id;
    }
  }
  return undefined;
}

/**
 * Returns the id as `findId` does.
 * @throws UnknownShape if the object has no id
 */
export function readId(object: JsonObject, resource: Resource): string {
  const id = findId(object, resource);
  if (id === undefined) {
    throw new UnknownShape('id.field', `The response contains no ${ID_FIELDS[resource]}.`, describeJson(object));
  }
  return id;
}

/** Returns a field of a resource, from the top or one level down under the resource's name. */
export function findField(object: JsonObject, resource: Resource, field: string): unknown {
  const values = layers(object, resource).map((place) => place[field]);
  return values.find((value) => value !== undefined && value !== null) ?? values.find((value) => value === null);
}

/** Returns a field as `findField` does: a string or a number as a string, anything else as undefined. */
export function findText(object: JsonObject, resource: Resource, field: string): string | undefined {
  const value = findField(object, resource, field);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return typeof value === 'string' ? value : undefined;
}
