import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';

/** Keys that may hold a list, tried in this order before the resource's name. */
const ENVELOPES = ['results', 'data', 'items'] as const;

/** Alternative names of a resource: the service's path calls jobs partner-cron-jobs. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = { cron_jobs: ['partner_cron_jobs', 'jobs'] };

/** Returns every key that may hold a list, in the order to try them. */
function keysOf(resource: string): readonly string[] {
  return [...ENVELOPES, resource, ...(OTHER_NAMES[resource] ?? [])];
}

/** Keys that may hold paging information. */
const PAGING = ['links', '_links', 'meta', 'pagination', 'paging', 'page'] as const;

/** Keys that announce another page without a link to it. */
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

/** Keys that hold the size of the whole list. */
const TOTALS = ['total', 'total_count', 'totalCount', 'total_items', 'totalItems', 'count'] as const;
const PAGE_TOTALS = ['total_pages', 'totalPages', 'page_count', 'pageCount'] as const;

function objects(list: readonly unknown[], resource: string): readonly JsonObject[] {
  return list.map((item) => {
    if (!isJsonObject(item)) {
      throw new UnknownShape(
        'list.envelope',
        `The list of ${resource} has an item that is not an object.`,
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
 * Returns the items of the list in a response (assumption `list.envelope`).
 * @param resource the plural resource name, as the service spells it: `spaces`, `agents`
 * @throws UnknownShape with the keys of the body if it has no list; ErrorInBody if it reports an error
 */
export function readList(body: unknown, resource: string): readonly JsonObject[] {
  if (Array.isArray(body)) return objects(body, resource);
  if (isJsonObject(body)) {
    rejectErrorInBody(body, [body, body.data, body.result].filter(isJsonObject), 'list.envelope');
    const found = arrayAt(body, resource) ?? nestedArray(body, resource) ?? onlyArrayOfObjects(body);
    if (found) return objects(found, resource);
  }
  throw new UnknownShape('list.envelope', `The response contains no list of ${resource}.`, describeJson(body));
}

/** Returns the objects that may hold paging information: the body, its envelopes, and the paging objects in each. */
function pagingPlaces(body: JsonObject, resource: string): readonly JsonObject[] {
  const envelopes = [
    body,
    ...keysOf(resource)
      .map((key) => body[key])
      .filter(isJsonObject),
  ];
  return envelopes.flatMap((place) => [place, ...PAGING.map((key) => place[key]).filter(isJsonObject)]);
}

/** Returns the URL of a link; if the link is an object, its href or url. */
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
 * Returns the link to the next page from the body (assumption `list.next`): a URL, a path, or a query. Does not check
 * it against the base URL. Returns undefined on the last page.
 * @param resource as for `readList`
 * @throws UnknownShape if `next` is not a link, so that part of a list never passes for all of it
 */
export function readNext(body: unknown, resource: string): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const next = pagingPlaces(body, resource)
    .map((place) => linkIn(place.next))
    .find(leadsOn);
  if (next === undefined) return undefined;
  if (typeof next === 'string' && /^(https?:\/\/|\/|\?)/i.test(next)) return next;
  throw new UnknownShape('list.next', 'The list continues, but its `next` is not a link.', describeJson(next));
}

/**
 * Returns the key that announces another page without a link to it, or undefined.
 * @param resource as for `readList`
 */
export function findUnfollowableKey(body: unknown, resource: string): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const places = pagingPlaces(body, resource);
  return OTHER_CURSORS.find((key) => places.some((place) => Boolean(place[key])));
}

/** Keys whose empty value marks the last page. */
const ENDS = ['next', ...OTHER_CURSORS];

/**
 * Returns what the response states about the extent of the list: `total`, the number of all items, and `ends`, whether
 * the response marks this page as the last.
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
 * Returns evidence that a list without a next page has more items than were read, such as `total: 5, and 3 read`;
 * undefined if there is none.
 * @param resource as for `readList`
 * @param read the number of items read
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
