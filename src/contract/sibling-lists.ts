import { normalizeName } from './field-names.ts';
import { isJsonObject, type JsonObject, jsonText } from './json.ts';
import { type Candidate, findLists, idNames, isOtherResource, namesOf } from './list-candidates.ts';

/** Normalized fields that other objects than those of the listed resource rarely have. */
const MARKS: Readonly<Record<string, RegExp>> = {
  spaces: /^(space|workspace|external|isorgwide|orgwide)/,
  agents: /^(agent|assistant|template|source|apichat)/,
  cron_jobs: /schedule|cron|instruction|prompt|agent/,
  messages: /^(text|content|body|message)$/,
  history: /^(text|content|body|message)$/,
};

/** Normalized keys of selections from a list. */
const SELECTIONS = /^(pinned|starred|recent|latest|featured|favou?rite)/;

/** How many items show what fields all have. */
const SAMPLE = 20;
/** The shares of the items' fields that objects of the same kind have at least, and of theirs that the items have. */
const MIN_COMMON = 0.75;
const MIN_KNOWN = 0.5;

/** A list in a response, and where it is. */
export type FoundList = Pick<Candidate, 'path' | 'value'>;

function keysOf(list: readonly JsonObject[]): ReadonlySet<string> {
  return new Set(list.slice(0, SAMPLE).flatMap((item) => Object.keys(item).map(normalizeName)));
}

/** Returns the values of the id of each object; undefined if not all have one of this name. */
function idsUnder(list: readonly JsonObject[], name: string): ReadonlySet<string> | undefined {
  const ids = list.flatMap((item) => {
    const key = Object.keys(item).find((each) => normalizeName(each) === name);
    return key === undefined ? [] : [jsonText(item[key])];
  });
  return ids.length === list.length ? new Set(ids) : undefined;
}

/** Whether objects of a list that are beside the items are of the same kind, and not among the items. */
function isMore(others: readonly JsonObject[], items: readonly JsonObject[], own: readonly string[]): boolean {
  const name = idNames(own).find((each) => idsUnder(others, each) !== undefined);
  if (name === undefined) return false;
  if (items.length === 0) return true;
  const known = idsUnder(items, name);
  const ids = idsUnder(others, name) ?? new Set();
  return known !== undefined && [...ids].some((id) => !known.has(id));
}

function isSimilar(others: readonly JsonObject[], items: readonly JsonObject[]): boolean {
  const [theirs, own] = [keysOf(others), keysOf(items)];
  const common = [...own].filter((key) => theirs.has(key)).length;
  return common / own.size >= MIN_COMMON && common / theirs.size >= MIN_KNOWN;
}

/**
 * Returns the lists beside the one that was found whose objects are of the same kind, so that neither holds all:
 * `{ jobs: […], paused: […] }`.
 */
export function findSiblings(body: JsonObject, resource: string, found: FoundList): readonly FoundList[] {
  const mark = MARKS[resource];
  if (mark === undefined) return [];
  const own = namesOf(resource);
  const items = (found.value ?? []).filter(isJsonObject);
  return findLists(body, own).filter(({ path, value }) => {
    const key = normalizeName(path.at(-1) ?? '');
    if (path.join('.') === found.path.join('.') || SELECTIONS.test(key) || isOtherResource(key, own)) return false;
    const others = (value ?? []).filter(isJsonObject);
    if (!isMore(others, items, own)) return false;
    // Messages under a similar name are mostly a selection: `unread_messages`.
    const isNamed = resource !== 'messages' && own.some((name) => key.endsWith(name));
    const isMarked = [...keysOf(others)].some((each) => mark.test(each));
    return isNamed || (isMarked && (items.length === 0 || isSimilar(others, items)));
  });
}
