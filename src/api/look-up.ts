import { findField, findId, findText, readId } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { NotFoundError, ShapeError, UsageError } from '../errors.ts';
import { readItem } from './read-item.ts';
import type { Reference } from './reference.ts';

/** A reference whose meaning only a list can tell. */
type Named = Exclude<Reference, { by: 'id' }>;

/** What is looked for, and what is said where it is not found. */
export interface LookUp {
  readonly resource: 'space' | 'agent';
  readonly named: Named;
  /** An item in a line, for the candidates. */
  readonly label: (item: JsonObject) => string;
  /** Why there is no match where there is nothing at all. */
  readonly whenEmpty: string;
  /** The command that shows all of the list. */
  readonly shownBy: string;
}

const SHOWN_CANDIDATES = 10;

function isNear(item: JsonObject, { resource, named }: LookUp): boolean {
  const value = findText(item, resource, named.by)?.toLowerCase();
  const wanted = named.value.toLowerCase();
  return value !== undefined && (value.includes(wanted) || (value !== '' && wanted.includes(value)));
}

/** Those that match, and the first few of the rest, for a message that names them. */
async function sift(items: AsyncIterable<JsonObject>, wanted: LookUp) {
  const { resource, named } = wanted;
  const matches: JsonObject[] = [];
  const near: JsonObject[] = [];
  const some: JsonObject[] = [];
  const ids = new Set<string>();
  let listed = 0;
  let telling = 0;
  for await (const item of items) {
    listed += 1;
    if (findField(item, resource, named.by) !== undefined) telling += 1;
    if (findText(item, resource, named.by) === named.value) {
      const id = findId(item, resource);
      // Pages shift while a list grows, so one item may be listed twice.
      if (id === undefined || !ids.has(id)) matches.push(item);
      if (id !== undefined) ids.add(id);
    } else if (near.length < SHOWN_CANDIDATES && isNear(item, wanted)) near.push(item);
    else if (some.length < SHOWN_CANDIDATES) some.push(item);
  }
  return { matches, candidates: near.length > 0 ? near : some, cannotTell: listed > 0 && telling === 0 };
}

/**
 * The id of the one item of a list that a reference means. The whole list is read, because a second match would make it
 * ambiguous.
 * @throws NotFoundError when nothing matches, UsageError when several do; both name candidates. ShapeError for one without
 * an id, and for a list that does not show what is asked for
 */
export async function lookUpId(items: AsyncIterable<JsonObject>, wanted: LookUp): Promise<string> {
  const { resource, named, label, whenEmpty, shownBy } = wanted;
  const { matches, candidates, cannotTell } = await sift(items, wanted);
  const lines = (shown: readonly JsonObject[]): string => shown.slice(0, SHOWN_CANDIDATES).map(label).join('\n');
  const ids = (shown: readonly JsonObject[]) => ({ candidates: shown.map((item) => findId(item, resource) ?? null) });
  const [match] = matches;
  if (cannotTell) {
    throw new ShapeError(`The listed ${resource}s do not carry their ${named.by}.`, {
      why: `So it cannot be told which of them has the ${named.by} ${JSON.stringify(named.value)}.`,
      hint: `Name it by its ${resource}_id; \`${shownBy}\` shows them.`,
      details: ids(candidates),
    });
  }
  if (!match) {
    throw new NotFoundError(`No ${resource} has the ${named.by} ${JSON.stringify(named.value)}.`, {
      why: candidates.length === 0 ? whenEmpty : `There are, among others:\n${lines(candidates)}`,
      hint: `\`${shownBy}\` shows all of them.`,
      details: ids(candidates),
    });
  }
  if (matches.length > 1) {
    throw new UsageError(`${matches.length} ${resource}s have the ${named.by} ${JSON.stringify(named.value)}.`, {
      why: lines(matches),
      hint: `Name the one that is meant by its ${resource}_id.`,
      details: ids(matches),
    });
  }
  return readItem(match, (item) => readId(item, resource));
}
