import type { LeafKind } from './leaves.ts';

/** A value that does not have the form of its leaf. The message continues the name of the leaf. */
export class LeafValueError extends Error {}

/** The method and path of an operation. The path is relative to the base URL; `{name}` is a parameter. */
export interface OperationValue {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
}

/** Where a parameter goes: a name in the query or form, or the steps to a value in the JSON body (`[]`: each item). */
export interface ParameterValue {
  readonly place: 'query' | 'body' | 'form';
  readonly path: readonly string[];
}

/** How the next page of a list is requested. A source that starts with `header.` is a response header. */
export type NextValue =
  | { readonly kind: 'auto' | 'none' }
  | { readonly kind: 'header' }
  | { readonly kind: 'link'; readonly source: readonly string[] }
  | { readonly kind: 'token'; readonly source: readonly string[]; readonly parameter: string }
  | { readonly kind: 'offset' | 'after'; readonly parameter: string }
  /** Pages count from `first`, by default from 1. */
  | { readonly kind: 'page'; readonly parameter: string; readonly first?: 0 };

/**
 * The candidates for a field: lists of paths of keys. An earlier list (rank) wins; the values of one rank must agree.
 */
export type FieldValue = readonly (readonly (readonly string[])[])[];

/** A path with an optional query; both may have `{name}` for a parameter. */
const OPERATION =
  /^(GET|POST|PUT|PATCH) (\/(?:[\w.~%:@!$&'()*+,;=/-]|\{\w+\})*(?:\?(?:[\w.~%:@!$&'()*+,;=/-]|\{\w+\})*)?)$/;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH'] as const;

/** Parses `GET /path/` or `none`. @throws LeafValueError */
export function parseOperation(value: string): OperationValue | undefined {
  if (value === 'none') return undefined;
  const [, verb, path = ''] = OPERATION.exec(value) ?? [];
  const method = METHODS.find((known) => known === verb);
  const isRelative = (path.split('?')[0] ?? '').split('/').every((segment) => segment !== '.' && segment !== '..');
  if (method === undefined || path.startsWith('//') || !isRelative) {
    throw new LeafValueError('must be a method and a path, such as GET /automation/spaces/, or none');
  }
  return { method, path };
}

function parsePath(text: string): readonly string[] {
  const steps = text.split('.').map((step) => step.trim());
  if (steps.some((step) => step === '' || step.length > 100)) {
    throw new LeafValueError(`has the path ${JSON.stringify(text)}, which is not a list of names separated by dots`);
  }
  return steps;
}

/** Parses `query:after`, `body:schedule.data.minute`, `form:file`, or `none`. @throws LeafValueError */
export function parseParameter(value: string): ParameterValue | undefined {
  if (value === 'none') return undefined;
  const [, place, path = ''] = /^(query|body|form):(.+)$/.exec(value) ?? [];
  if (place === 'body') return { place, path: parsePath(path) };
  if (place === 'query' || place === 'form') return { place, path: [path] };
  throw new LeafValueError('must be query:<name>, body:<path>, form:<name>, or none');
}

/** Parses `auto`, `$`, or a path: undefined for auto, no steps for the body itself. @throws LeafValueError */
export function parseItems(value: string): readonly string[] | undefined {
  if (value === 'auto') return undefined;
  return value === '$' ? [] : parsePath(value);
}

/** Parses how the next page is requested. @throws LeafValueError */
export function parseNext(value: string): NextValue {
  if (value === 'auto' || value === 'none') return { kind: value };
  if (value === 'header:link') return { kind: 'header' };
  const [kind, ...rest] = value.split(':');
  const parameter = rest.at(-1)?.trim() ?? '';
  if (parameter !== '') {
    if (kind === 'link') return { kind, source: parsePath(rest.join(':')) };
    if (kind === 'token' && rest.length === 2) return { kind, source: parsePath(rest[0] ?? ''), parameter };
    if (kind === 'page' && rest.length === 2 && parameter === '0') return { kind, parameter: rest[0] ?? '', first: 0 };
    if ((kind === 'page' || kind === 'offset' || kind === 'after') && rest.length === 1) return { kind, parameter };
  }
  throw new LeafValueError(
    'must be auto, none, header:link, link:<path>, token:<path>:<parameter>, page:<parameter>, page:<parameter>:0 (the first page is 0), offset:<parameter>, or after:<parameter>',
  );
}

function parseNames(value: string, separator: ',' | '|'): readonly string[] {
  const names = value.split(separator).map((name) => name.trim());
  if (names.includes('')) throw new LeafValueError('has an empty name');
  return names;
}

/** Parses `space_id, id|uuid`. @throws LeafValueError */
export function parseField(value: string): FieldValue {
  if (value.includes('\\|')) throw new LeafValueError('has \\| between names: type | alone');
  return parseNames(value, ',').map((rank) => parseNames(rank, '|').map(parsePath));
}

/** Parses `assistant, agent, bot` to lower-case values. @throws LeafValueError */
export function parseValues(value: string): readonly string[] {
  return parseNames(value, ',').map((name) => name.toLowerCase());
}

const SLASHES = ['as-written', 'always', 'never'] as const;
export type Slash = (typeof SLASHES)[number];

/** Parses `as-written`, `always`, or `never`. @throws LeafValueError */
export function parseSlash(value: string): Slash {
  const slash = SLASHES.find((known) => known === value);
  if (slash === undefined) throw new LeafValueError(`must be ${SLASHES.join(', ')}`);
  return slash;
}

const PARSERS: Readonly<Record<LeafKind, (value: string) => unknown>> = {
  operation: parseOperation,
  parameter: parseParameter,
  items: parseItems,
  next: parseNext,
  at: parseField,
  field: parseField,
  values: parseValues,
  slash: parseSlash,
};

/** Checks that a value has the form of its leaf. @throws LeafValueError */
export function checkLeafValue(kind: LeafKind, value: string): void {
  PARSERS[kind](value);
}
