import { isInOtherSpace, type ListedAgent } from '../contract/agents.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { NotFoundError, ShapeError } from '../errors.ts';
import { Paged } from '../output/paged.ts';
import type { Http } from './http.ts';
import { listAll } from './list.ts';

/**
 * Lists the agents of a space with their public integration metadata (spec §4, endpoint 3). Reading it throws
 * NotFoundError when the service does not know the space.
 */
export function listAgents(http: Http, spaceId: string): Paged<JsonObject> {
  return new Paged(readAgents(http, spaceId));
}

async function* readAgents(http: Http, spaceId: string): AsyncGenerator<readonly JsonObject[]> {
  try {
    yield* listAll(http, OPERATIONS.listAgents, 'agents', { values: { space_id: spaceId } }).pages;
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

/** Tells the agents of a space from others in its list: a service may ignore the space in the path. */
export class SpaceAgents {
  private readonly spaceId: string;
  private hasOwn = false;
  private other: ListedAgent | undefined;

  constructor(spaceId: string) {
    this.spaceId = spaceId;
  }

  /** Whether a listed agent is in the space, as far as it says. */
  includes(agent: ListedAgent): boolean {
    const isOther = isInOtherSpace(agent, this.spaceId);
    if (isOther) this.other ??= agent;
    else this.hasOwn = true;
    return !isOther;
  }

  /** Checks the whole list. @throws ShapeError if it has only agents of other spaces: it may be that of another space */
  check(): void {
    const { spaceId, hasOwn, other } = this;
    if (hasOwn || !other) return;
    throw new ShapeError(`The list of agents of the space ${spaceId} has only agents of other spaces.`, {
      why: `The agent ${other.agent_id} says that it is in ${other.space_id}.`,
      hint: `Compare with: partnerctl agents list ${spaceId}\nIf the service cannot list the agents of one space, name agents by their agent_id, and go on without the list: partnerctl contract set agents.list none`,
      details: { operation: OPERATIONS.listAgents.name, space_id: spaceId },
    });
  }
}
