import { readAgent } from '../contract/agents.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { readSpace } from '../contract/spaces.ts';
import { readItem } from './api-response.ts';
import { listAgents, listSpaces } from './calls.ts';
import type { Http } from './http.ts';
import { parseReference, resolveSpaceId } from './references.ts';

/** Lists the spaces as they are read, each beside what the service sent. @throws as `listSpaces`, while they are read */
export function listSpaceRows(http: Http) {
  return listSpaces(http).map((item) => ({
    space: readItem(OPERATIONS.listSpaces, () => readSpace(item, http.contract)),
    item,
  }));
}

/**
 * Lists the agents of a space as they are read, each with what the service sent.
 * @param space as typed: a space_id, `ext:<external_space_id>`, or `name:<name>`
 * @throws NotFoundError, UsageError as `resolveSpaceId`; as `listAgents`, while they are read
 */
export async function listAgentRows(http: Http, space: string) {
  const spaceId = await resolveSpaceId(http, parseReference(space));
  return listAgents(http, spaceId).map((item) => ({
    ...readItem(OPERATIONS.listAgents, () => readAgent(item, http.contract)),
    item,
  }));
}
