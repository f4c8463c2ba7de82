import { readItem } from '../api/api-response.ts';
import { listAgents, listSpaces } from '../api/calls.ts';
import { createFreshList, type FreshList } from '../api/fresh-list.ts';
import type { Http } from '../api/http.ts';
import { type DecisiveList, ListUnavailable, toListFailure } from '../api/list-failure.ts';
import { SpaceAgents } from '../api/space-agents.ts';
import type { InTurn } from '../api/take-turns.ts';
import type { Clock } from '../clock.ts';
import { readAgent } from '../contract/agents.ts';
import { fieldsOf } from '../contract/fields.ts';
import { groupBy } from '../contract/group-by.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS, type Operation } from '../contract/operations.ts';
import { foldExternalId } from '../contract/provisioning.ts';
import { type ListedSpace, readSpace } from '../contract/spaces.ts';
import { NotFoundError, type PartnerctlError, ShapeError, withHint } from '../errors.ts';
import type { ManifestDocument } from './manifest.ts';
import type { ProvisionHistory } from './provision-history.ts';
import type { PresentAgent, PresentSpace } from './provision-plan.ts';

/** The lists of spaces or agents are unavailable. */
export class RemoteStateUnavailable extends Error {
  /** The service's refusal. */
  readonly reason: PartnerctlError;
  readonly list: 'spaces' | 'agents';

  constructor(reason: PartnerctlError, list: 'spaces' | 'agents') {
    super(reason.message);
    this.reason = reason;
    this.list = list;
  }
}

/** What earlier runs learned about the spaces. */
type KnownSpaces = Pick<ProvisionHistory, 'provesListRead' | 'recordedId' | 'allIds'>;

/** What the service's list tells about the spaces of a run, by the external id in the manifest. */
export interface FoundSpaces {
  readonly spaces: ReadonlyMap<string, ListedSpace>;
  /** Other spaces whose external id is the same but for its spelling. For a space that is not found, it may be that one. */
  readonly similar: ReadonlyMap<string, ListedSpace>;
}

interface ListedSpaces extends FoundSpaces {
  /** The id of the last record of each space, by key, before the list was read. */
  readonly lastRecords: ReadonlyMap<string, string | undefined>;
}

export type SpaceList = FreshList<ListedSpaces>;

/**
 * The list of spaces, which is read again when it is too old. Reading it takes a turn, and throws what `inTurn` and
 * `findSpaces` throw.
 */
export function createSpaceList(
  { http, inTurn }: { readonly http: Http; readonly inTurn: InTurn },
  documents: readonly ManifestDocument[],
  history: KnownSpaces & Pick<ProvisionHistory, 'lastRecords'>,
  clock: Clock,
): SpaceList {
  let wasRead = false;
  const known: KnownSpaces = {
    ...history,
    provesListRead: async () => wasRead || (await history.provesListRead()),
  };
  async function read(): Promise<ListedSpaces> {
    const lastRecords = await history.lastRecords();
    const found = await findSpaces(http, documents, known);
    wasRead = true;
    return { ...found, lastRecords };
  }
  return createFreshList(() => inTurn(read), clock);
}

function toUnavailable(error: unknown, list: 'spaces' | 'agents', reading: Omit<DecisiveList, 'name'>): unknown {
  const failure = toListFailure(error, { ...reading, name: `the list of ${list}` });
  return failure instanceof ListUnavailable ? new RemoteStateUnavailable(failure.reason, list) : failure;
}

/**
 * The listed spaces of the documents, by the external id in the manifest. Reads the whole list once. A space that an earlier
 * run recorded is known by its space_id, too: the service may list another form of the external id, or none.
 * @throws RemoteStateUnavailable when the list is unavailable
 * @throws ShapeError when the list has no external ids, or two spaces have the same
 */
export async function findSpaces(
  http: Http,
  documents: readonly ManifestDocument[],
  known: KnownSpaces,
): Promise<FoundSpaces> {
  const manifests = documents.map(({ manifest }) => manifest);
  const wanted = new Set(manifests.map(({ external_space_id }) => external_space_id));
  const byFoldedId = groupBy(manifests, ({ external_space_id }) => foldExternalId(external_space_id));
  const byRecordedId = groupBy(manifests, known.recordedId);
  const found = new Map<string, ListedSpace>();
  const similar = new Map<string, ListedSpace>();
  const underOtherIds = new Map<string, ListedSpace>();
  let last: JsonObject | undefined;
  let hasExternalIds = false;
  try {
    for await (const item of listSpaces(http)) {
      last = item;
      const space = readItem(OPERATIONS.listSpaces, () => readSpace(item, http.contract));
      const id = space.external_space_id;
      hasExternalIds ||= id !== undefined;
      const isWanted = typeof id === 'string' && wanted.has(id);
      if (isWanted) addSpace(found, id, space);
      const spellings = typeof id === 'string' ? (byFoldedId.get(foldExternalId(id)) ?? []) : [];
      const alike = spellings.filter(({ external_space_id }) => external_space_id !== id);
      for (const { external_space_id } of alike) similar.set(external_space_id, space);
      for (const manifest of byRecordedId.get(space.space_id) ?? []) {
        if (!isWanted || alike.includes(manifest)) underOtherIds.set(manifest.external_space_id, space);
      }
    }
  } catch (error) {
    throw toUnavailable(error, 'spaces', { wasRead: await known.provesListRead(), isPartlyRead: last !== undefined });
  }
  if (last && !hasExternalIds) {
    refuseItem(http, OPERATIONS.listSpaces, last, 'space.external_space_id');
  }
  return { spaces: new Map([...(await withoutRenamed(underOtherIds, known)), ...found]), similar };
}

/**
 * Leaves out each space that is also recorded under the external id that the service lists: it was renamed, and the document
 * with its former external id is about another space.
 * @param spaces by the external id in the manifest
 */
async function withoutRenamed(spaces: ReadonlyMap<string, ListedSpace>, known: KnownSpaces) {
  if (spaces.size === 0) return [];
  const recorded = await known.allIds();
  return [...spaces].filter(([wanted, { space_id, external_space_id: listed }]) => {
    if (typeof listed !== 'string' || foldExternalId(listed) === foldExternalId(wanted)) return true;
    return recorded.get(listed) !== space_id;
  });
}

/** @throws ShapeError if another space has the external id */
function addSpace(found: Map<string, ListedSpace>, id: string, space: ListedSpace): void {
  const earlier = found.get(id);
  // A space may be listed twice: pages shift while spaces are created.
  if (earlier && earlier.space_id !== space.space_id) {
    throw new ShapeError(`The service lists several spaces with the external_space_id ${JSON.stringify(id)}.`);
  }
  found.set(id, space);
}

/** @throws ShapeError for a list whose items lack the field by which the tool knows what exists */
function refuseItem(
  http: Http,
  operation: Operation,
  item: JsonObject,
  leaf: 'space.external_space_id' | 'agent.name',
): never {
  const resource = leaf === 'agent.name' ? 'agent' : 'space';
  try {
    return readItem(operation, () => {
      throw fieldsOf(item, resource, http.contract).unreadable(
        leaf,
        `A listed ${resource} has no ${leaf.split('.')[1]}.`,
      );
    });
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw withHint(error, {
      hint: `If the service does not list it, go on without the list: partnerctl contract set ${operation.leaf} none`,
      details: {},
    });
  }
}

/**
 * The agents of a space.
 * @throws RemoteStateUnavailable when the list is unavailable
 * @throws ShapeError when an agent has no name: it may be one that would be installed again; as `SpaceAgents.check`
 */
export async function fetchAgents(http: Http, spaceId: string): Promise<readonly PresentAgent[]> {
  const agents: PresentAgent[] = [];
  const own = new SpaceAgents(spaceId);
  let nameless: JsonObject | undefined;
  const isUnnamed = (item: JsonObject) => fieldsOf(item, 'agent', http.contract).value('agent.name') === null;
  try {
    for await (const item of listAgents(http, spaceId)) {
      const agent = readItem(OPERATIONS.listAgents, () => readAgent(item, http.contract));
      if (!own.includes(agent)) continue;
      agents.push(agent);
      if (agent.name === undefined && !isUnnamed(item)) nameless = item;
    }
  } catch (error) {
    // A 404 is about the space, not the list, unless a gateway sent it.
    const isUnknownSpace = error instanceof NotFoundError && !error.info.fromGateway;
    throw isUnknownSpace ? error : toUnavailable(error, 'agents', { wasRead: false, isPartlyRead: agents.length > 0 });
  }
  if (nameless) refuseItem(http, OPERATIONS.listAgents, nameless, 'agent.name');
  own.check();
  return agents;
}

/** A listed space with its agents. @throws RemoteStateUnavailable as `fetchAgents` */
export async function fetchRemoteState(http: Http, space: ListedSpace): Promise<PresentSpace> {
  const { space_id, external_space_id, name, description, is_org_wide, retirement } = space;
  return {
    space_id,
    external_space_id: external_space_id ?? undefined,
    name,
    description,
    is_org_wide: typeof is_org_wide === 'boolean' ? is_org_wide : undefined,
    retirement,
    agents: await fetchAgents(http, space_id),
  };
}
