import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { NotFoundError } from '../errors.ts';
import { Paged } from '../output/paged.ts';
import type { Http } from './http.ts';
import { listAll } from './list-all.ts';

/**
 * Lists the agents of a space with their public integration metadata (spec §4, endpoint 3). Reading it throws
 * NotFoundError when the service does not know the space.
 */
export function listAgents(http: Http, spaceId: string): Paged<JsonObject> {
  return new Paged(readAgents(http, spaceId));
}

async function* readAgents(http: Http, spaceId: string): AsyncGenerator<readonly JsonObject[]> {
  try {
    yield* listAll(http, OPERATIONS.listAgents, 'agents', { parameters: { space_id: spaceId } }).pages;
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const { why, hint } = error.info;
    // A service that quotes the path has nothing there, rather than no such space.
    const addressHint = hint !== undefined && why?.includes('/agents') ? [hint] : [];
    throw new NotFoundError(`The service does not know the space ${JSON.stringify(spaceId)} (404).`, {
      ...error.info,
      hint: [
        'Use its space_id, ext:<external_space_id>, or name:<name>. List the spaces with: partnerctl spaces list',
        ...addressHint,
      ].join('\n'),
    });
  }
}
