import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { NotFoundError } from '../errors.ts';
import type { Http } from './http.ts';
import { listAll } from './pages.ts';

/**
 * The agents of a space with their public integration metadata (spec §4, endpoint 3).
 * @throws NotFoundError when the service does not know the space
 */
export async function* listAgents(http: Http, spaceId: string): AsyncGenerator<JsonObject> {
  try {
    yield* listAll(http, OPERATIONS.listAgents, 'agents', { parameters: { space_id: spaceId } });
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    throw new NotFoundError(`The service does not know the space ${JSON.stringify(spaceId)} (404).`, {
      ...error.info,
      hint: `\`partnerctl spaces list\` shows the ids. Your own id is written ext:${spaceId}, a name name:${spaceId}.`,
    });
  }
}
