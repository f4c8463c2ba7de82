import { type Kind, RESOURCES } from '../contract/resources.ts';
import { type Maker, place } from './maker.ts';
import { toCase } from './names.ts';
import type { PageField } from './paging.ts';
import type { Shape } from './shape.ts';

/** Fields whose own keys callers choose: they are not renamed. */
const CALLER_KEYED = ['fields'];

/** The name of a field in the responses of a shape. */
function nameOf(shape: Shape, kind: Kind, field: string): string {
  if (field === RESOURCES[kind].id && shape.id !== undefined) return toCase(shape.id, shape.case ?? 'snake');
  const name = shape.fields?.[`${kind}.${field}`] ?? shape.fields?.[field] ?? field;
  return toCase(name, shape.case ?? 'snake');
}

function author<T>(role: T, { author: trait }: Shape, make: Maker<T>): T {
  if (trait?.form === 'flag') return make.isAssistant(role);
  const name = trait?.roles ? make.renamedRole(role, trait.roles) : role;
  return trait?.form === 'object' ? make.object({ type: name }) : name;
}

function messageText<T>(text: T, { text: form }: Shape, make: Maker<T>): T {
  if (form === 'parts') return make.list([make.object({ type: make.constant('text'), text })]);
  return form === 'object' ? make.object({ value: text, format: make.constant('plain') }) : text;
}

/** One field with its name and its value in the shape. */
function arrangeField<T>(
  shape: Shape,
  kind: Kind,
  [field, value]: readonly [string, T],
  make: Maker<T>,
): readonly [string, T] {
  const name = nameOf(shape, kind, field);
  if (kind === 'message' && field === 'role') {
    return [toCase(shape.author?.name ?? 'role', shape.case ?? 'snake'), author(value, shape, make)];
  }
  if (kind === 'message' && field === 'text') return [name, messageText(value, shape, make)];
  if (field === 'created_at' && shape.time) {
    return [name, make.sinceEpoch(value, shape.time === 'epoch_seconds' ? 1_000 : 1)];
  }
  if (CALLER_KEYED.includes(field)) return [name, value];
  return [name, make.renamed(value, (nested) => toCase(nested, shape.case ?? 'snake'))];
}

/** The links that a shape adds to a resource. */
function linksOf<T>(shape: Shape, kind: Kind, fields: Readonly<Record<string, T>>, make: Maker<T>): Record<string, T> {
  const { id = '', plural } = RESOURCES[kind];
  const own = fields[id];
  if (shape.links === undefined || own === undefined) return {};
  const href = make.prefixed(`/v1/automation/${toCase(plural, 'kebab')}/`, own);
  if (shape.links === 'self') return { links: make.object({ self: href }) };
  return { _links: make.object({ self: make.object({ href }) }) };
}

interface Arranged<T> {
  readonly fields: Readonly<Record<string, T>>;
  readonly links: Readonly<Record<string, T>>;
}

function nest<T>(shape: Shape, kind: Kind, { fields, links }: Arranged<T>, make: Maker<T>): T {
  const { id: idField, singular, plural } = RESOURCES[kind];
  const idName = idField === undefined ? undefined : nameOf(shape, kind, idField);
  const { [idName ?? '']: id, ...rest } = fields;
  switch (shape.nesting) {
    case 'attributes':
      return make.object({
        type: make.constant(plural.replaceAll('_', '-')),
        id,
        attributes: make.object(rest),
        ...links,
      });
    case 'properties':
      return make.object({ [idName ?? 'id']: id, properties: make.object(rest), ...links });
    case 'metadata':
      return make.object({
        kind: make.constant(toCase(singular, 'pascal')),
        metadata: make.object({ [idName ?? 'uid']: id }),
        spec: make.object(rest),
        ...links,
      });
    default:
      return make.object({ ...fields, ...links });
  }
}

/** Converts a resource of the service, or its schema, to the shape. */
export function arrange<T>(shape: Shape, kind: Kind, resource: T, make: Maker<T>): T {
  const fields = make.fieldsOf(resource);
  if (kind === 'provisioning') return arrangeProvisioning(shape, fields, make);
  const arranged = Object.entries(fields).map((field) => arrangeField(shape, kind, field, make));
  return nest(shape, kind, { fields: Object.fromEntries(arranged), links: linksOf(shape, kind, fields, make) }, make);
}

function arrangeProvisioning<T>(shape: Shape, fields: Readonly<Record<string, T>>, make: Maker<T>): T {
  const { created, space, agents } = fields;
  const name = (field: string): string => toCase(field, shape.case ?? 'snake');
  return make.object({
    [name('created')]: created,
    [name('space')]: space && arrange(shape, 'space', space, make),
    [name('agents')]: agents && make.each(agents, (agent) => arrange(shape, 'agent', agent, make)),
  });
}

/** Replaces `{singular}` and `{plural}` in a path with the names of a resource. */
export function expandPath(shape: Shape, kind: Kind, path: string): string {
  const { singular, plural } = RESOURCES[kind];
  const name = (snake: string): string => toCase(snake, shape.case ?? 'snake');
  return path.replaceAll('{singular}', name(singular)).replaceAll('{plural}', name(plural));
}

function constants<T>(shape: Shape, make: Maker<T>): (readonly [string, T])[] {
  return Object.entries(shape.constants ?? {}).map(([path, value]) => [path, make.constant(value)]);
}

/** The body with one resource. */
export function singleBody<T>(shape: Shape, kind: Kind, resource: T, make: Maker<T>): T {
  const at = kind === 'provisioning' && shape.single === '{singular}' ? '' : (shape.single ?? '');
  const fixed = constants(shape, make);
  if (at === '' && fixed.length > 0) return make.object({ ...make.fieldsOf(resource), ...Object.fromEntries(fixed) });
  return place(make, [[expandPath(shape, kind, at), resource], ...fixed]);
}

/** An item of a list. @param cursor where the list continues after the item */
export function listItem<T>(shape: Shape, kind: Kind, { item, cursor }: { item: T; cursor: T }, make: Maker<T>): T {
  if (shape.item === 'node') return make.object({ cursor, node: item });
  return shape.item === 'singular' ? make.object({ [expandPath(shape, kind, '{singular}')]: item }) : item;
}

/** The page fields of a list body, each with its path. */
export function bodyPageFields(shape: Shape, kind: Kind): (readonly [path: string, field: PageField])[] {
  const { paging, history } = shape;
  const isUncounted = kind === 'message' && history?.isPagedByCursor;
  const fields = Object.entries(paging?.body ?? {}).filter(([, field]) => !(isUncounted && field === 'total'));
  return fields.map(([path, field]) => [expandPath(shape, kind, path), field]);
}

/** The body of a list. @param pageFields the page fields by path */
export function listBody<T>(
  shape: Shape,
  kind: Kind,
  { items, pageFields }: { items: T; pageFields: readonly (readonly [string, T | undefined])[] },
  make: Maker<T>,
): T {
  const at = expandPath(shape, kind, shape.list ?? 'results');
  return place(make, [[at, items], ...pageFields, ...constants(shape, make)]);
}
