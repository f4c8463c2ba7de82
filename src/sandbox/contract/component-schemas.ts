import { arrange, bodyPageFields, listBody, listItem, singleBody } from '../shapes/arrange.ts';
import { errorFormat } from '../shapes/errors.ts';
import { type FieldSchema, place, SCHEMAS, withoutOptional } from '../shapes/maker.ts';
import { pageFieldSchema } from '../shapes/paging.ts';
import type { Shape } from '../shapes/shape.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { type Kind, RESOURCES } from './resources.ts';
import { listOf, orNull, refTo, type Schema } from './schema.ts';

/** The schemas of the page fields. */
function pageSchema(shape: Shape, kind: Kind): (readonly [path: string, schema: FieldSchema | undefined])[] {
  const { paging } = shape;
  return bodyPageFields(shape, kind).map(([path, field]) => [path, paging && pageFieldSchema(paging, field)]);
}

function listSchema(shape: Shape, kind: Kind): Schema {
  const item = listItem(shape, kind, { item: refTo(RESOURCES[kind].component), cursor: { type: 'string' } }, SCHEMAS);
  const items = shape.emptyList === 'null' ? orNull(listOf(item)) : listOf(item);
  const toSchema = (pageFields: ReturnType<typeof pageSchema>): Schema =>
    withoutOptional(listBody(shape, kind, { items, pageFields }, SCHEMAS));
  if (!shape.document?.isComposed) return toSchema(pageSchema(shape, kind));
  return { allOf: [refTo('Page'), toSchema([])] };
}

function resourceSchema(shape: Shape, kind: Kind): Schema {
  const { schema } = RESOURCES[kind];
  const { description = '' } = schema;
  return { description, ...withoutOptional(arrange(shape, kind, schema, SCHEMAS)) };
}

/** The schema of a successful response. */
export function successSchema(shape: Shape, { kind, returns }: Operation): Schema {
  const { component } = RESOURCES[kind];
  if (returns === 'list') return refTo(`${component}List`);
  const isInline = shape.constants !== undefined && (shape.single === undefined || kind === 'provisioning');
  const resource = isInline ? resourceSchema(shape, kind) : refTo(component);
  return withoutOptional(singleBody(shape, kind, resource, SCHEMAS));
}

/** Every schema that the document refers to, by its name. */
export function componentSchemas(shape: Shape): Record<string, Schema> {
  const kinds = [...new Set(OPERATIONS.map(({ kind }) => kind))];
  const lists = [...new Set(OPERATIONS.filter(({ returns }) => returns === 'list').map(({ kind }) => kind))];
  return Object.fromEntries([
    ...kinds.map((kind) => [RESOURCES[kind].component, resourceSchema(shape, kind)]),
    ...lists.map((kind) => [`${RESOURCES[kind].component}List`, listSchema(shape, kind)]),
    ...(shape.document?.isComposed ? [['Page', withoutOptional(place(SCHEMAS, pageSchema(shape, 'space')))]] : []),
    ['Error', errorFormat(shape.errors ?? 'own').schema],
  ]);
}
