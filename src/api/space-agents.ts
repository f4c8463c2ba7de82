import { isInOtherSpace, type ListedAgent } from '../contract/agents.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { ShapeError } from '../errors.ts';

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
