import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { Http } from './http.ts';
import { listAll } from './pages.ts';

/** The spaces available to the token, as the service describes them (spec §4, endpoint 1). */
export function listSpaces(http: Http): AsyncGenerator<JsonObject> {
  return listAll(http, OPERATIONS.listSpaces, 'spaces');
}
