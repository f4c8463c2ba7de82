import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { Paged } from '../output/paged.ts';
import type { Http } from './http.ts';
import { listAll } from './list.ts';

/** Lists the spaces that the token has access to, as the service describes them (spec §4, endpoint 1). */
export function listSpaces(http: Http): Paged<JsonObject> {
  return listAll(http, OPERATIONS.listSpaces, 'spaces');
}
