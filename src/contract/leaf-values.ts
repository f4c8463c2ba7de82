import { DEFAULTS, kindOf, type LeafKind, type LeafName, mayBeNone, parametersOf } from './leaves.ts';

/** A value that a leaf cannot have. The message continues the name of the leaf. */
class LeafValueError extends Error {}

/** The method and path of an operation. The path is relative to the base URL; `{name}` is a parameter. */
export interface OperationValue {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
}

/** Where a parameter goes: a name in the query or form, or the steps to a value in the JSON body. */
export interface ParameterValue {
  readonly place: 'query' | 'body' | 'form';
  readonly path: readonly string[];
}

/** How the next page of a list is requested. A source that starts with `header.` is a response header. */
export type NextValue =
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' }
  | { readonly kind: 'link'; readonly source: readonly string[] }
  | { readonly kind: 'token'; readonly source: readonly string[]; readonly parameter: string }
  | { readonly kind: 'page' | 'offset' | 'after'; readonly parameter: string };

/** The paths of a field. An earlier list (rank) wins; the values of one rank must agree. */
export type FieldValue = readonly (readonly (readonly string[])[])[];

const OPERATION =
  /^(GET|POST|PUT|PATCH) (\/(?:[\w.~%:@!$&'()*+,;=/-]|\{\w+\})*(?:\?(?:[\w.~%:@!$&'()*+,;=/-]|\{\w+\})*)?)$/;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH'] as const;

/** Parses `GET /path/` or `none`. @throws LeafValueError */
export function parseOperation(value: string): OperationValue | undefined {
  if (value === 'none') return undefined;
  const [, verb, path = ''] = OPERATION.exec(value) ?? [];
  const method = METHODS.find((known) => known === verb);
  if (method === undefined || /^\/\/|\/\.\.?(?:[/?]|$)/.test(path)) {
    throw new LeafValueError('must be a method and a path, such as GET /automation/spaces/, or none');
  }
  return { method, path };
}

function parsePath(text: string): readonly string[] {
  const steps = text.split('.').map((step) => step.trim());
  if (steps.some((step) => step === '')) {
    throw new LeafValueError(`has the path ${JSON.stringify(text)}, which is not a list of names separated by dots`);
  }
  return steps;
}

/** Parses `query:after`, `body:filter.session`, `form:file`, or `none`. @throws LeafValueError */
export function parseParameter(value: string): ParameterValue | undefined {
  if (value === 'none') return undefined;
  const [, place, path = ''] = /^(query|body|form):(.+)$/.exec(value) ?? [];
  if (place === 'body') return { place, path: parsePath(path) };
  if (place === 'query' || place === 'form') return { place, path: [path] };
  throw new LeafValueError('must be query:<name>, body:<path>, form:<name>, or none');
}

/** Undefined for `auto`; no steps for the body itself. @throws LeafValueError */
export function parseItems(value: string): readonly string[] | undefined {
  if (value === 'auto') return undefined;
  return value === '$' ? [] : parsePath(value);
}

/** Parses `auto`, `none`, or how the next page is requested. @throws LeafValueError */
export function parseNext(value: string): NextValue {
  if (value === 'auto' || value === 'none') return { kind: value };
  if (value === 'header:link') return { kind: 'link', source: ['header', 'link'] };
  // Versions before wrote `page:<parameter>:0` where the first page is 0. The reader finds that out.
  const [kind, ...rest] = value.replace(/^(page:[^:]+):0$/, '$1').split(':');
  const [first = '', second = ''] = rest.map((each) => each.trim());
  if (kind === 'link' && first !== '') return { kind, source: parsePath(rest.join(':')) };
  if (kind === 'token' && second !== '' && rest.length === 2)
    return { kind, source: parsePath(first), parameter: second };
  if ((kind === 'page' || kind === 'offset' || kind === 'after') && first !== '' && rest.length === 1)
    return { kind, parameter: first };
  throw new LeafValueError(
    'must be auto, none, header:link, link:<path>, token:<path>:<parameter>, page:<parameter>, offset:<parameter>, or after:<parameter>',
  );
}

/** Parses `limit:100` or `none`. @throws LeafValueError */
export function parseSize(value: string): Readonly<Record<string, string>> {
  if (value === 'none') return {};
  const [, parameter, size] = /^([^:\s]+):([1-9]\d{0,5})$/.exec(value) ?? [];
  if (parameter === undefined || size === undefined)
    throw new LeafValueError(
      'must be none, or a query parameter and the number of items to ask for, such as limit:100',
    );
  return { [parameter]: size };
}

/** Parses names. @throws LeafValueError */
export function parseValues(value: string, separator: ',' | '|' = ','): readonly string[] {
  const names = value.split(separator).map((name) => name.trim());
  if (names.includes('')) throw new LeafValueError('has an empty name');
  return names;
}

/** Parses paths: `id|uuid, data.id`. @throws LeafValueError */
export function parseField(value: string): FieldValue {
  return parseValues(value).map((rank) => parseValues(rank, '|').map(parsePath));
}

/** @throws LeafValueError */
export function parseSlash(value: string) {
  if (value === 'as-written' || value === 'always' || value === 'never') return value;
  throw new LeafValueError('must be as-written, always, or never');
}

const PARSERS: Readonly<Record<LeafKind, (value: string) => unknown>> = {
  operation: parseOperation,
  parameter: parseParameter,
  items: parseItems,
  next: parseNext,
  size: parseSize,
  at: parseField,
  field: parseField,
  values: parseValues,
  slash: parseSlash,
};

/** Returns the names of the parameters in a path. */
export function placeholdersIn(text: string): readonly string[] {
  return [...text.matchAll(/\{(\w+)\}/g)].map(([, placeholder = '']) => placeholder);
}

/** The placeholders of an operation must be known, and those without which the path means something else be there. */
function checkPlaceholders(name: LeafName, value: string): void {
  const [known, given] = [placeholdersIn(DEFAULTS[name]), placeholdersIn(value)];
  const parameters = parametersOf(name).map((parameter) => parameter.slice(name.length + 1));
  const unknown = given.find((placeholder) => ![...known, ...parameters].includes(placeholder));
  if (unknown !== undefined) throw new LeafValueError(`has the unknown placeholder {${unknown}}`);
  // An agent_id may identify an agent without its space.
  const required = known.at(-1);
  if (required !== undefined && !given.includes(required))
    throw new LeafValueError(`needs the placeholder {${required}}`);
}

/** Returns what is wrong with a value, to follow the name of its leaf: `must be …`; undefined if nothing is. */
export function problemOf(leaf: LeafName, value: string): string | undefined {
  const kind = kindOf(leaf);
  try {
    PARSERS[kind](value);
    if (value === 'none' && (kind === 'operation' || kind === 'parameter') && !mayBeNone(leaf))
      return 'cannot be none: the call would mean something else without it';
    if (kind === 'operation' && value !== 'none') checkPlaceholders(leaf, value);
    return undefined;
  } catch (error) {
    if (error instanceof LeafValueError) return error.message;
    throw error;
  }
}
