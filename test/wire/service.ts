import type { Fact, Id, IdStyle, Resource } from './facts.ts';

export type Wire = Readonly<Record<string, unknown>>;

/** How a request selects a page. Without, everything is on one page. */
export interface Paging {
  readonly by: 'page' | 'offset' | 'token' | 'last id';
  readonly parameter: string;
  /** The number of the first page or item. */
  readonly first: number;
  /** The parameter for the number of items on a page, if there is one. */
  readonly size?: string;
}

/** Pages have numbers. */
export const byPage = (parameter = 'page', first = 1): Paging => ({ by: 'page', parameter, first });
/** A page starts after a number of items. */
export const byOffset = (parameter = 'offset'): Paging => ({ by: 'offset', parameter, first: 0 });
/** The response has an opaque token for the next page. */
export const byToken = (parameter: string): Paging => ({ by: 'token', parameter, first: 0 });
/** The next page starts after the last item, named by its id. */
export const byLastId = (parameter: string): Paging => ({ by: 'last id', parameter, first: 0 });

/** One page of a list, and what a service may say about it. */
export interface Page {
  readonly items: readonly Wire[];
  /** What the service calls these resources: `spaces`. */
  readonly key: string;
  /** The number of items before it, on a full page, and in all. */
  readonly from: number;
  readonly size: number;
  readonly total: number;
  /** The number of the page as a request has it, and the number of pages. */
  readonly number: number;
  readonly pages: number;
  /** The next page as a URL, as a path, and as the value of its parameter; null at the end. */
  readonly next: string | null;
  readonly nextPath: string | null;
  readonly nextValue: string | number | null;
  readonly hasNext: boolean;
  readonly firstId: Id | null;
  readonly lastId: Id | null;
  readonly url: string;
}

/** How a list is sent. */
export interface ListStyle {
  readonly paging?: Paging | undefined;
  /** Items on a page; 2 by default, 3 of a history. */
  readonly size?: number;
  readonly list: (page: Page) => unknown;
  readonly headers?: ((page: Page) => Readonly<Record<string, string>>) | undefined;
}

interface HistoryStyle extends Partial<ListStyle> {
  readonly order?: 'newest first' | undefined;
  readonly method?: 'POST' | undefined;
  /** The names of the parameters that the specification leaves open. */
  readonly parameters?: { readonly source?: string; readonly session?: string; readonly after?: string };
  /** Whether a page has the message of the cursor too, or the cursor is not looked at. */
  readonly cursor?: 'inclusive' | 'ignored' | undefined;
  /** Whether a request without its source or session gets all messages instead of an error. */
  readonly isUnscoped?: true;
}

/** A failure of a request, for `Service.error`. */
interface Failure {
  readonly status: number;
  readonly code: string;
  readonly sentence: string;
}

/** How a service fills the gaps of the specification. What is omitted is as specified, or the most usual. */
export interface Service extends ListStyle {
  readonly name: string;
  readonly ids?: IdStyle | undefined;
  /** The name of every resource's own id. By default `space_id`, `agent_id`, … */
  readonly id?: string | undefined;
  readonly casing?: 'camel' | 'pascal' | 'kebab' | undefined;
  /** The paths of single fields by their specified names, `message.text: 'body.content'`; null is not sent. */
  readonly fields?: Readonly<Record<string, string | null>> | undefined;
  /** Further fields of a resource, by path; `*` is every resource. */
  readonly also?: Readonly<Record<string, unknown>>;
  /** Where all fields but the id are. */
  readonly under?: string | undefined;
  /** Where the author of a message is, and what the two sides are called. By default `role`, `user`, `assistant`. */
  readonly author?: readonly [path: string, user: unknown, assistant: unknown] | undefined;
  /** How a time is written, from milliseconds since 1970. By default ISO 8601. */
  readonly time?: ((ms: number) => unknown) | undefined;
  readonly history?: HistoryStyle | undefined;
  /** How one resource is sent. By default the bare object. */
  readonly one?: (fields: Wire, resource: Resource) => unknown;
  /** How a provisioned space is sent. By default like one space, with its `agents`. */
  readonly provisioned?: (space: Wire, agents: readonly Wire[]) => unknown;
  /** The status of a response to a request that created something. By default 201. */
  readonly created?: number;
  /** The resources whose creation is answered by a Location header alone. */
  readonly locationOnly?: readonly Resource[];
  /** The body of an error. By default `{"detail": …}`. */
  readonly error?: (failure: Failure) => unknown;
  /** The status of all errors, if only their body says so. */
  readonly errorStatus?: 200;
  /** Paths end with a slash as specified, or: both do; a slash redirects; a slash is not found. */
  readonly slash?: 'either' | 'redirects' | 'never' | undefined;
  /** Whether an unknown query parameter is an error. */
  readonly isStrict?: true;
  /** The status of a request for the list of all jobs: there is none, or only one of each agent's (400). */
  readonly noJobList?: 400 | 405;
  /** The form field of a file. By default `file`. */
  readonly fileField?: string;
  /** The operations that no contract makes possible, and why: they are rightly refused. */
  readonly impossible?: Readonly<Record<string, string>>;
  /** What no document can tell, so that an operator has to set it, and the operations that need it: all by default. */
  readonly untold?: { readonly fact: string; readonly operations?: readonly string[] };
}

/** The uploads of a service that answers them with a 202: nothing lists them, so that nothing tells their ids. */
export const UPLOADS_ACCEPTED = {
  'upload attachment': 'A 202 tells no id.',
  'upload document': 'A 202 tells no id.',
} satisfies Service['impossible'];

/** How a service sends the list of a resource. A history with a list of its own also pages on its own. */
export function listStyle(service: Service, resource: Resource): ListStyle & { readonly size: number } {
  const { paging, size, list, headers, history = {} } = service;
  if (resource !== 'message') return { paging, size: size ?? 2, list, headers };
  if (history.list) return { ...history, list: history.list, size: history.size ?? 3 };
  return { paging, list, headers, size: history.size ?? size ?? 3 };
}

/** The service with so many items on each page, the first one of which has this number. */
export function withPages(service: Service, size: number, first: 0 | 1): Service {
  const counted = (paging?: Paging) => (paging?.by === 'page' ? { ...paging, first } : paging);
  const history = {
    ...service.history,
    size,
    ...(service.history?.list && { paging: counted(service.history.paging) }),
  };
  return { ...service, size, paging: counted(service.paging), history };
}

/** What a service says of a page without items: in its body, and in its headers. */
function signsOf({ list, headers }: ListStyle, total: number, next: number): string {
  const numbers = { from: 0, size: 7, total, number: 1, pages: next, hasNext: next > 1, firstId: null, lastId: null };
  const links = { next: `?p=${next}`, nextPath: `?p=${next}`, nextValue: next, url: 'https://api.example.com' };
  const page: Page = { ...numbers, ...links, items: [], key: 'items' };
  return JSON.stringify([list(page), headers?.(page)]);
}

/** Whether a list says nothing of pages. */
export function isSilent(service: Service, resource: Resource): boolean {
  const style = listStyle(service, resource);
  return signsOf(style, 1, 1) === signsOf(style, 98, 99);
}

/** Whether a list says how many items it has. */
export function statesTotal(service: Service, resource: Resource): boolean {
  const style = listStyle(service, resource);
  return signsOf(style, 98, 1) !== signsOf(style, 97, 1);
}

/** The path of a specified field in a resource of the service; null if it is not sent. */
export function pathOf({ id, casing, fields = {}, author, under }: Service, resource: Resource, field: string) {
  const given = fields[`${resource}.${field}`];
  const isOwn = field === `${resource}_id`;
  if (given === null) return null;
  if (isOwn && given === undefined && id !== undefined) return id;
  const name = given ?? (field === 'author' ? (author?.[0] ?? inCase('role', casing)) : inCase(field, casing));
  return under === undefined || isOwn ? name : `${under}.${name}`;
}

/** Writes a fact the way the service does. */
export function show(service: Service, resource: Resource, fact: Fact): Wire {
  const wire: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(fact)) {
    const path = pathOf(service, resource, field);
    if (path !== null && value !== undefined) put(wire, path, wireValue(service, field, value));
  }
  for (const [name, value] of Object.entries(service.also ?? {})) {
    const [owner = '', ...path] = name.split('.');
    if (owner === '*' || owner === resource) put(wire, path.join('.'), value);
  }
  return wire;
}

function wireValue({ author, time, casing }: Service, field: string, value: unknown): unknown {
  if (field === 'author') return author?.[value === 'user' ? 1 : 2] ?? value;
  if (field === 'created_at') return (time ?? ((ms) => new Date(ms).toISOString()))(Number(value));
  if (field === 'schedule') return keysInCase(value, casing);
  return value;
}

/** Writes a specified name in the case of the service. */
export function inCase(name: string, casing: Service['casing']): string {
  if (casing === undefined) return name;
  if (casing === 'kebab') return name.replaceAll('_', '-');
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return casing === 'camel' ? camel : camel.charAt(0).toUpperCase() + camel.slice(1);
}

function keysInCase(value: unknown, casing: Service['casing']): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [inCase(key, casing), keysInCase(each, casing)]),
  );
}

/** Puts a value at a dot path; a step that is a number makes a list. */
function put(target: Record<string, unknown>, path: string, value: unknown): void {
  const [first = '', ...rest] = path.split('.');
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const known = target[first];
  const inner: Record<string, unknown> = isWire(known) || Array.isArray(known) ? { ...known } : {};
  put(inner, rest.join('.'), value);
  target[first] = /^\d+$/.test(rest[0] ?? '') ? Object.values(inner) : inner;
}

/** Whether a value is an object, and no list. */
export function isWire(value: unknown): value is Wire {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
