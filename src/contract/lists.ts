import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';

/** Names under which a list may stand, tried in this order before its own name. */
const ENVELOPES = ['results', 'data', 'items'] as const;

/** Further names of a list, beside that of its resource: the service's path says partner-cron-jobs. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = { cron_jobs: ['partner_cron_jobs', 'jobs'] };

/** Every key under which a list may stand, in the order in which they are tried. */
function keysOf(resource: string): readonly string[] {
  return [...ENVELOPES, resource, ...(OTHER_NAMES[resource] ?? [])];
}

/** Where an answer keeps what it says about its pages. */
const PAGING = ['links', '_links', 'meta', 'pagination', 'paging', 'page'] as const;

/** Signs of a further page that only a `next` link could lead to. */
const OTHER_CURSORS = [
  'has_more',
  'hasMore',
  'has_next',
  'hasNext',
  'next_cursor',
  'nextCursor',
  'next_page',
  'nextPage',
  'next_page_token',
  'nextPageToken',
  'next_page_url',
  'nextPageUrl',
  'next_url',
  'next_link',
  'nextLink',
  '@odata.nextLink',
];

/** What a service says about how much there is in all. */
const TOTALS = ['total', 'total_count', 'totalCount', 'total_items', 'totalItems', 'count'] as const;
const PAGE_TOTALS = ['total_pages', 'totalPages', 'page_count', 'pageCount'] as const;

function objects(list: readonly unknown[], resource: string): readonly JsonObject[] {
  return list.map((item) => {
    if (!isJsonObject(item)) {
      throw new UnknownShape(
        'list.envelope',
        `The list of ${resource} holds something that is not an object.`,
        describeJson(item),
      );
    }
    return item;
  });
}

function arrayAt(body: JsonObject, resource: string): readonly unknown[] | undefined {
  for (const key of keysOf(resource)) {
    const value = body[key];
    if (Array.isArray(value)) return value;
  }
  return undefined;
}

function nestedArray(body: JsonObject, resource: string): readonly unknown[] | undefined {
  for (const key of keysOf(resource)) {
    const value = body[key];
    const found = isJsonObject(value) ? arrayAt(value, resource) : undefined;
    if (found) return found;
  }
  return undefined;
}

function onlyArrayOfObjects(body: JsonObject): readonly unknown[] | undefined {
  const candidates = Object.entries(body).flatMap(([key, value]) =>
    key !== 'errors' && Array.isArray(value) && value.length > 0 && value.every(isJsonObject) ? [value] : [],
  );
  return candidates.length === 1 ? candidates[0] : undefined;
}

/**
 * The items of a list answer (assumption `list.envelope`).
 * @param resource the plural name of what is listed, as the service spells it: `spaces`, `agents`.
 * @throws UnknownShape when no list can be made out, naming the keys seen, and for an answer that speaks of a failure.
 */
export function readList(body: unknown, resource: string): readonly JsonObject[] {
  if (Array.isArray(body)) return objects(body, resource);
  if (isJsonObject(body)) {
    rejectErrorInBody(body, [body, body.data, body.result].filter(isJsonObject), 'list.envelope');
    const found = arrayAt(body, resource) ?? nestedArray(body, resource) ?? onlyArrayOfObjects(body);
    if (found) return objects(found, resource);
  }
  throw new UnknownShape('list.envelope', `No list of ${resource} can be made out in the answer.`, describeJson(body));
}

/** The body, the envelopes in it, and the paging of each. */
function pagingPlaces(body: JsonObject, resource: string): readonly JsonObject[] {
  const envelopes = [
    body,
    ...keysOf(resource)
      .map((key) => body[key])
      .filter(isJsonObject),
  ];
  return envelopes.flatMap((place) => [place, ...PAGING.map((key) => place[key]).filter(isJsonObject)]);
}

/** What stands for a link: its address where it is an object that has one, or nothing to follow. */
function linkIn(next: unknown): unknown {
  if (!isJsonObject(next)) return next;
  if ('href' in next) return next.href;
  if ('url' in next) return next.url;
  return Object.keys(next).length === 0 ? undefined : next;
}

function leadsOn(next: unknown): boolean {
  return next !== undefined && next !== null && next !== '' && next !== false;
}

/**
 * The link to the next page that a list's body carries (assumption `list.next`): an address, a path or a query,
 * not yet checked against the service's own address; undefined on the last page.
 * @param resource as for `readList`
 * @throws UnknownShape when the body speaks of further pages in a way that cannot be followed, so that a part of a list
 * is never taken for the whole.
 */
export function readNext(body: unknown, resource: string): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const next = pagingPlaces(body, resource)
    .map((place) => linkIn(place.next))
    .find(leadsOn);
  if (next === undefined) return undefined;
  if (typeof next === 'string' && /^(https?:\/\/|\/|\?)/i.test(next)) return next;
  throw new UnknownShape('list.next', 'The list goes on, but its `next` is not a link.', describeJson(next));
}

/**
 * A sign in the body that the list goes on where neither `next` nor a Link header says how.
 * @param resource as for `readList`
 * @returns the telling key, or undefined.
 */
export function findUnfollowableKey(body: unknown, resource: string): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const places = pagingPlaces(body, resource);
  return OTHER_CURSORS.find((key) => places.some((place) => Boolean(place[key])));
}

/** Signs of a further page that say by an empty value that there is none. */
const ENDS = ['next', ...OTHER_CURSORS];

/**
 * What the service says itself about how far a list goes: `total`, the items that there are in all, and whether it says
 * that no further page follows.
 * @param resource as for `readList`
 */
export function readStatedExtent(body: unknown, resource: string): { readonly total?: number; readonly ends: boolean } {
  if (!isJsonObject(body)) return { ends: false };
  const places = pagingPlaces(body, resource);
  const ends = places.some((place) => ENDS.some((key) => key in place && !leadsOn(linkIn(place[key]))));
  const total = places.flatMap((place) => TOTALS.map((key) => place[key])).find((value) => typeof value === 'number');
  return total === undefined ? { ends } : { total, ends };
}

/**
 * Whether a list that shows no way on says that there is more of it than was read.
 * @param resource as for `readList`
 * @param read the items read
 * @returns the telling words, or undefined
 */
export function findUnreadRest(body: unknown, resource: string, read: number): string | undefined {
  if (!isJsonObject(body)) return undefined;
  for (const place of pagingPlaces(body, resource)) {
    const total = TOTALS.find((key) => typeof place[key] === 'number' && place[key] > read);
    if (total !== undefined) return `${total}: ${place[total]}, and ${read} read`;
    const pages = PAGE_TOTALS.find((key) => typeof place[key] === 'number' && place[key] > 1);
    if (pages !== undefined) return `${pages}: ${place[pages]}`;
  }
  return undefined;
}
