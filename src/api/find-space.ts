import { findId, findText } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Http } from './http.ts';
import { lookUpId } from './look-up.ts';
import type { Reference } from './reference.ts';
import { listSpaces } from './spaces.ts';

function label(space: JsonObject): string {
  const name = findText(space, 'space', 'name');
  const external = findText(space, 'space', 'external_space_id');
  return [findId(space, 'space'), name, external && `ext:${external}`].filter(Boolean).join(' · ');
}

/**
 * The space_id that a reference means. An id is taken as it is; a prefix is looked up in the list of spaces.
 * @throws NotFoundError when nothing matches, UsageError when several do; both name candidates. ShapeError for one without
 * an id
 */
export async function findSpaceId(http: Http, reference: Reference): Promise<string> {
  if (reference.by === 'id') return reference.value;
  return lookUpId(listSpaces(http), {
    resource: 'space',
    named: reference,
    label,
    whenEmpty: 'The token reaches no spaces.',
    shownBy: 'partnerctl spaces list',
  });
}
