import { type ListedAgent, readAgent } from '../contract/agents.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { type ListedSpace, readSpace } from '../contract/spaces.ts';
import type { Paged } from '../platform/paged.ts';
import { readItem } from './api-response.ts';
import { listAgents, listSpaces } from './calls.ts';
import type { Http } from './http.ts';

/** A space, beside what the service sent. */
export interface SpaceRow {
  readonly space: ListedSpace;
  readonly item: JsonObject;
}

/** An agent, with what the service sent. */
export interface AgentRow extends ListedAgent {
  readonly item: JsonObject;
}

/** Lists the spaces as they are read. @throws as `listSpaces`, while they are read */
export function listSpaceRows(http: Http): Paged<SpaceRow> {
  return listSpaces(http).map((item) => ({
    space: readItem(OPERATIONS.listSpaces, () => readSpace(item, http.contract)),
    item,
  }));
}

/** Lists the agents of a space as they are read. @throws as `listAgents`, while they are read */
export function listAgentRows(http: Http, spaceId: string): Paged<AgentRow> {
  return listAgents(http, spaceId).map((item) => ({
    ...readItem(OPERATIONS.listAgents, () => readAgent(item, http.contract)),
    item,
  }));
}
