import { findId, findText, readId } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Reference } from '../domain/reference.ts';
import { NotFoundError, UsageError } from '../errors.ts';
import type { Http } from './http.ts';
import { readItem } from './read-item.ts';
import { listSpaces } from './spaces.ts';

const SHOWN_CANDIDATES = 10;

function label(space: JsonObject): string {
  const name = findText(space, 'space', 'name');
  const external = findText(space, 'space', 'external_space_id');
  return [findId(space, 'space'), name, external && `ext:${external}`].filter(Boolean).join(' · ');
}

function candidates(spaces: readonly JsonObject[]): string {
  return spaces.slice(0, SHOWN_CANDIDATES).map(label).join('\n');
}

/** Keeps the first few spaces, for a message that names them. */
function isNear(space: JsonObject, reference: Reference): boolean {
  const value = findText(space, 'space', reference.by === 'name' ? 'name' : 'external_space_id')?.toLowerCase();
  const wanted = reference.value.toLowerCase();
  return value !== undefined && (value.includes(wanted) || (value !== '' && wanted.includes(value)));
}

/**
 * The space_id that a reference means. An id is taken as it is; a prefix is looked up in the list of spaces.
 * @throws NotFoundError when nothing matches, UsageError when several do; both name candidates. ShapeError for one without
 * an id
 */
export async function findSpaceId(http: Http, reference: Reference): Promise<string> {
  if (reference.by === 'id') return reference.value;
  const { by, value } = reference;
  const matches: JsonObject[] = [];
  const near: JsonObject[] = [];
  const some: JsonObject[] = [];
  for await (const space of listSpaces(http)) {
    if (findText(space, 'space', by) === value) matches.push(space);
    else if (near.length < SHOWN_CANDIDATES && isNear(space, reference)) near.push(space);
    else if (some.length < SHOWN_CANDIDATES) some.push(space);
  }
  const [match] = matches;
  if (!match) {
    const shown = near.length > 0 ? near : some;
    throw new NotFoundError(`No space has the ${by} ${JSON.stringify(value)}.`, {
      why: shown.length === 0 ? 'The token reaches no spaces.' : `There are, among others:\n${candidates(shown)}`,
      hint: '`partnerctl spaces list` shows all of them.',
      details: { candidates: shown.map((space) => findId(space, 'space') ?? null) },
    });
  }
  if (matches.length > 1) {
    throw new UsageError(`${matches.length} spaces have the ${by} ${JSON.stringify(value)}.`, {
      why: candidates(matches),
      hint: 'Name the one that is meant by its space_id.',
      details: { candidates: matches.map((space) => findId(space, 'space') ?? null) },
    });
  }
  return readItem(match, (space) => readId(space, 'space'));
}
