import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { Http } from './http.ts';
import { listAll } from './pages.ts';

/** The agents of a space with their public integration metadata (spec §4, endpoint 3). */
export function listAgents(http: Http, spaceId: string): AsyncGenerator<JsonObject> {
  return listAll(http, OPERATIONS.listAgents, 'agents', { parameters: { space_id: spaceId } });
}
