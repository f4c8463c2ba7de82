import { UnknownShape } from './assumptions.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';

/** Names under which a list may stand, tried in this order before its own name. */
const ENVELOPES = ['results', 'data', 'items'] as const;

/** Signs of a further page that only a `next` link could lead to. */
const OTHER_CURSORS = [
  'has_more',
  'hasMore',
  'next_cursor',
  'nextCursor',
  'next_page',
  'nextPage',
  'next_page_token',
  'nextPageToken',
];

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
  for (const key of [...ENVELOPES, resource]) {
    const value = body[key];
    if (Array.isArray(value)) return value;
  }
  return undefined;
}

function nestedArray(body: JsonObject, resource: string): readonly unknown[] | undefined {
  for (const key of [...ENVELOPES, resource]) {
    const value = body[key];
    const found = isJsonObject(value) ? arrayAt(value, resource) : undefined;
    if (found) return found;
  }
  return undefined;
}

function onlyArrayOfObjects(body: JsonObject): readonly unknown[] | undefined {
  const candidates = Object.values(body).filter(
    (value): value is unknown[] => Array.isArray(value) && value.length > 0 && value.every(isJsonObject),
  );
  return candidates.length === 1 ? candidates[0] : undefined;
}

/**
 * The items of a list answer (assumption `list.envelope`).
 * @param resource the plural name of what is listed, as the service spells it: `spaces`, `agents`.
 * @throws UnknownShape when no list can be made out, naming the keys seen.
 */
export function readList(body: unknown, resource: string): readonly JsonObject[] {
  if (Array.isArray(body)) return objects(body, resource);
  if (isJsonObject(body)) {
    const found = arrayAt(body, resource) ?? nestedArray(body, resource) ?? onlyArrayOfObjects(body);
    if (found) return objects(found, resource);
  }
  throw new UnknownShape('list.envelope', `No list of ${resource} can be made out in the answer.`, describeJson(body));
}

function firstLink(body: JsonObject): unknown {
  if (body.next !== undefined) return body.next;
  for (const key of ['links', '_links', 'meta', 'pagination', 'paging', 'page', ...ENVELOPES]) {
    const value = body[key];
    if (isJsonObject(value) && value.next !== undefined) return value.next;
  }
  return undefined;
}

/**
 * The link to the next page that a list's body carries (assumption `list.next`): an address, a path or a query,
 * not yet checked against the service's own address; undefined on the last page.
 * @throws UnknownShape when the body speaks of further pages in a way that cannot be followed, so that a part of a list
 * is never taken for the whole.
 */
export function readNext(body: unknown): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const found = firstLink(body);
  const next = isJsonObject(found) ? (found.href ?? found.url) : found;
  if (typeof next === 'string' && next !== '') {
    if (/^(https?:\/\/|\/|\?)/i.test(next)) return next;
    throw new UnknownShape('list.next', 'The list goes on, but its `next` is not a link.', describeJson(next));
  }
  if (next !== undefined && next !== null && next !== '' && next !== false) {
    throw new UnknownShape('list.next', 'The list goes on, but its `next` is not a link.', describeJson(next));
  }
  return undefined;
}

/**
 * A sign in the body that the list goes on where neither `next` nor a Link header says how.
 * @returns the telling key, or undefined.
 */
export function unreachableNext(body: unknown): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const places = [body, ...['meta', 'pagination', 'paging', 'page'].map((key) => body[key]).filter(isJsonObject)];
  return OTHER_CURSORS.find((key) => places.some((place) => Boolean(place[key])));
}
