import { UnknownShape } from './assumptions.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';

/** The resources whose ids the tool reads, each with the name of its id field (spec §2). */
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

function asId(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value === 'bigint') return String(value);
  return Number.isInteger(value) ? String(value) : undefined;
}

/** Further names under which a resource may stand one level down: the service's path calls a job partner-cron-job. */
const OTHER_NAMES: { readonly [name in Resource]?: readonly string[] } = {
  cron_job: ['partner_cron_job'],
  file_attachment: ['attachment', 'file'],
};

/** The object itself, then the one that stands under the resource's name. */
function layers(object: JsonObject, resource: Resource): readonly JsonObject[] {
  const nested = [resource, ...(OTHER_NAMES[resource] ?? [])].map((name) => object[name]).find(isJsonObject);
  return nested ? [object, nested] : [object];
}

/**
 * The id of a resource in an object of the service (assumption `id.field`), as text; undefined when there is none.
 * The resource's own name wins over a plain `id`, wherever it stands.
 */
export function findId(object: JsonObject, resource: Resource): string | undefined {
  const places = layers(object, resource);
  for (const field of [ID_FIELDS[resource], 'id']) {
    // A plain id beside a nested resource is the envelope's own.
    for (const place of field === 'id' ? [...places].reverse() : places) {
      const id = asId(place[field]);
      if (id !== undefined) return id;
    }
  }
  return undefined;
}

/**
 * Like `findId`, for where the id is needed to go on.
 * @throws UnknownShape that says what came.
 */
export function readId(object: JsonObject, resource: Resource): string {
  const id = findId(object, resource);
  if (id === undefined) {
    throw new UnknownShape(
      'id.field',
      `No ${ID_FIELDS[resource]} can be made out in the answer.`,
      describeJson(object),
    );
  }
  return id;
}

/** A named field of a resource, at the top or one level down under the resource's name. */
export function findField(object: JsonObject, resource: Resource, field: string): unknown {
  const values = layers(object, resource).map((place) => place[field]);
  return values.find((value) => value !== undefined && value !== null) ?? values.find((value) => value === null);
}

/** Like `findField`, where only text (or a number that stands for it) will do. */
export function findText(object: JsonObject, resource: Resource, field: string): string | undefined {
  const value = findField(object, resource, field);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return typeof value === 'string' ? value : undefined;
}
