import { readItem } from '../api/api-response.ts';
import { createFreshList, type FreshList } from '../api/fresh-list.ts';
import type { Http } from '../api/http.ts';
import { type DecisiveList, ListUnavailable, toListFailure } from '../api/list-failure.ts';
import { listAgents, listSpaces } from '../api/spaces.ts';
import type { Clock } from '../clock.ts';
import type { JsonObject } from '../contract/json.ts';
import { findField, findId, findText, readId } from '../contract/plain-fields.ts';
import { readAgent } from '../contract/provisioning.ts';
import { NotFoundError, type PartnerctlError, ShapeError } from '../errors.ts';
import type { ProvisionHistory } from './history.ts';
import type { ManifestDocument } from './manifest.ts';
import type { PresentAgent, PresentSpace } from './plan.ts';

/** The lists of spaces or agents are unavailable, or without the fields that identify them. */
export class RemoteStateUnavailable extends Error {
  /** The service's refusal, or the unusable shape. */
  readonly reason: PartnerctlError;

  constructor(reason: PartnerctlError) {
    super(reason.message);
    this.reason = reason;
  }
}

/** The spaces of a run that the service lists. */
interface ListedSpaces {
  /** By external id. */
  readonly spaces: ReadonlyMap<string, JsonObject>;
  /** The id of the last record of each space, by key, before the list was read. */
  readonly lastRecords: ReadonlyMap<string, string | undefined>;
}

export type SpaceList = FreshList<ListedSpaces>;

/** The list of spaces, which is read again when it is too old. Reading it throws what `findSpaces` throws. */
export function createSpaceList(
  http: Http,
  documents: readonly ManifestDocument[],
  history: Pick<ProvisionHistory, 'lastRecords' | 'provesListRead'>,
  clock: Clock,
): SpaceList {
  let wasRead = false;
  return createFreshList(async () => {
    const lastRecords = await history.lastRecords();
    const spaces = await findSpaces(http, documents, async () => wasRead || (await history.provesListRead()));
    wasRead = true;
    return { spaces, lastRecords };
  }, clock);
}

function toUnavailable(error: unknown, list: DecisiveList): unknown {
  const failure = toListFailure(error, list);
  return failure instanceof ListUnavailable ? new RemoteStateUnavailable(failure.reason) : failure;
}

/**
 * The listed spaces with the external ids of the documents, by external id. Reads the whole list once.
 * @param wasReadBefore whether the list is known to exist
 * @throws RemoteStateUnavailable when the list is unavailable, or has no external ids
 * @throws ShapeError when two spaces have the same external id
 */
export async function findSpaces(
  http: Http,
  documents: readonly ManifestDocument[],
  wasReadBefore: () => Promise<boolean>,
): Promise<Map<string, JsonObject>> {
  const wanted = new Set(documents.map(({ manifest }) => manifest.external_space_id));
  const found = new Map<string, JsonObject>();
  let isListed = false;
  let hasExternalIds = false;
  try {
    for await (const space of listSpaces(http)) {
      isListed = true;
      hasExternalIds ||= findField(space, 'space', 'external_space_id') !== undefined;
      const id = findText(space, 'space', 'external_space_id');
      if (id === undefined || !wanted.has(id)) continue;
      const earlier = found.get(id);
      // A space may be listed twice: pages shift while spaces are created.
      if (earlier && findId(earlier, 'space') !== findId(space, 'space')) {
        throw new ShapeError(`The service lists several spaces with the external_space_id ${JSON.stringify(id)}.`);
      }
      found.set(id, space);
    }
  } catch (error) {
    throw toUnavailable(error, { name: 'the list of spaces', wasRead: await wasReadBefore(), isPartlyRead: isListed });
  }
  if (isListed && !hasExternalIds) {
    const message = 'The listed spaces have no external_space_id.';
    throw new RemoteStateUnavailable(new ShapeError(message, { details: { assumption: 'space.external_id' } }));
  }
  return found;
}

/** The agents of a space. @throws RemoteStateUnavailable when the list is unavailable, or has no names */
export async function fetchAgents(http: Http, spaceId: string): Promise<readonly PresentAgent[]> {
  const agents: PresentAgent[] = [];
  try {
    for await (const agent of listAgents(http, spaceId)) agents.push(readItem(agent, readAgent));
  } catch (error) {
    // A 404 is about the space, not the list, unless a gateway sent it.
    const isUnknownSpace = error instanceof NotFoundError && !error.info.fromGateway;
    throw isUnknownSpace
      ? error
      : toUnavailable(error, { name: 'the list of agents', wasRead: false, isPartlyRead: agents.length > 0 });
  }
  if (agents.length > 0 && agents.every(({ name }) => name === undefined)) {
    const message = 'The listed agents have no names.';
    throw new RemoteStateUnavailable(new ShapeError(message, { details: { assumption: 'agent.name' } }));
  }
  return agents;
}

/** The id of a listed space. @throws ShapeError if it has none */
export function readSpaceId(space: JsonObject): string {
  return readItem(space, (listed) => readId(listed, 'space'));
}

/** A listed space with its agents. @throws RemoteStateUnavailable as `fetchAgents` */
export async function fetchRemoteState(http: Http, space: JsonObject): Promise<PresentSpace> {
  const spaceId = readSpaceId(space);
  const orgWide = findField(space, 'space', 'is_org_wide');
  return {
    space_id: spaceId,
    name: findText(space, 'space', 'name'),
    description: findText(space, 'space', 'description'),
    is_org_wide: typeof orgWide === 'boolean' ? orgWide : undefined,
    agents: await fetchAgents(http, spaceId),
  };
}
