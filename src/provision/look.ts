import { readItem } from '../api/api-response.ts';
import type { Http } from '../api/http.ts';
import { listAgents, listSpaces } from '../api/spaces.ts';
import { findField, findId, findText, readId } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { readAgent } from '../contract/provisioning.ts';
import { CredentialsError, ShapeError } from '../errors.ts';
import type { PresentAgent, PresentSpace } from './plan.ts';

/** Why the service cannot be asked what is there. */
export class CannotLook extends Error {
  /** The 403, or the shape, that stands in the way. */
  readonly reason: CredentialsError | ShapeError;

  constructor(reason: CredentialsError | ShapeError) {
    super(reason.message);
    this.reason = reason;
  }
}

function orCannotLook(error: unknown): unknown {
  return error instanceof CredentialsError && error.info.status === 403 ? new CannotLook(error) : error;
}

function isExternalIdShown(space: JsonObject): boolean {
  return findField(space, 'space', 'external_space_id') !== undefined;
}

/**
 * The listed spaces with the given external ids, one pass over the whole list, only those kept.
 * @throws CannotLook when the token may not list spaces, or the list does not say external ids
 * @throws ShapeError when two spaces have the same external id
 */
export async function findSpaces(http: Http, externalIds: ReadonlySet<string>): Promise<Map<string, JsonObject>> {
  const found = new Map<string, JsonObject>();
  let listed = 0;
  let shown = 0;
  try {
    for await (const space of listSpaces(http)) {
      listed += 1;
      if (isExternalIdShown(space)) shown += 1;
      const id = findText(space, 'space', 'external_space_id');
      if (id === undefined || !externalIds.has(id)) continue;
      const before = found.get(id);
      // Pages shift while spaces are created, so one space may be listed twice.
      if (before && findId(before, 'space') !== findId(space, 'space'))
        throw new ShapeError(`The service lists several spaces with the external_space_id ${JSON.stringify(id)}.`);
      found.set(id, space);
    }
  } catch (error) {
    throw orCannotLook(error);
  }
  if (listed > 0 && shown === 0) {
    const message = 'The listed spaces do not carry their external_space_id.';
    throw new CannotLook(new ShapeError(message, { details: { assumption: 'space.external_id' } }));
  }
  return found;
}

async function agentsOf(http: Http, spaceId: string): Promise<PresentAgent[]> {
  const agents: PresentAgent[] = [];
  try {
    for await (const agent of listAgents(http, spaceId)) agents.push(readItem(agent, readAgent));
  } catch (error) {
    throw orCannotLook(error);
  }
  if (agents.length > 0 && agents.every(({ name }) => name === undefined)) {
    const message = 'The listed agents do not carry their names.';
    throw new CannotLook(new ShapeError(message, { details: { assumption: 'agent.name' } }));
  }
  return agents;
}

/** A listed space together with its agents. @throws CannotLook when the token may not list agents */
export async function inspectSpace(http: Http, space: JsonObject): Promise<PresentSpace> {
  const spaceId = readItem(space, (listed) => readId(listed, 'space'));
  const orgWide = findField(space, 'space', 'is_org_wide');
  return {
    space_id: spaceId,
    name: findText(space, 'space', 'name'),
    description: findText(space, 'space', 'description'),
    is_org_wide: typeof orgWide === 'boolean' ? orgWide : undefined,
    agents: await agentsOf(http, spaceId),
  };
}

/** The agents of a space whose id is known. @throws CannotLook when the token may not list agents */
export async function inspectAgents(http: Http, spaceId: string): Promise<readonly PresentAgent[]> {
  return agentsOf(http, spaceId);
}
