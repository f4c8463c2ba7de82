import { readItem } from '../api/api-response.ts';
import { agentsOf, listSpaces } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { ListUnavailable, nameListFailure, toListFailure } from '../api/list-failure.ts';
import type { ListedAgent } from '../contract/agents.ts';
import { fieldsOf } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS, type Operation } from '../contract/operations.ts';
import type { ListedSpace } from '../contract/spaces.ts';
import { isTokenRejected, ShapeError, withHint } from '../errors.ts';
import type { ManifestDocument } from './manifest.ts';
import type { SpaceFact } from './space-record.ts';

/** What is known of a space before anything is sent. */
export interface Observation {
  /** The space as the service lists it, or else as the state recorded it; undefined if there is none, or none is known. */
  readonly space: (Partial<ListedSpace> & Pick<ListedSpace, 'space_id'>) | undefined;
  /** Its agents; undefined if they cannot be listed. */
  readonly agents: readonly ListedAgent[] | undefined;
  /** What the state recorded of the space. */
  readonly fact: SpaceFact | undefined;
}

type SpaceList = ReadonlyMap<string, ListedSpace>;

/** @throws ShapeError for a list whose items lack the field by which the tool knows what exists */
function refuseItem(
  http: Http,
  operation: Operation,
  item: JsonObject,
  leaf: 'space.external_space_id' | 'agent.name',
): never {
  const [resource, field] = leaf === 'agent.name' ? (['agent', 'name'] as const) : (['space', 'external id'] as const);
  try {
    return readItem(operation, () => {
      throw fieldsOf(item, resource, http.contract).unreadable(leaf, `A listed ${resource} has no ${field}.`);
    });
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    const hint = `If the service does not list it, go on without the list: partnerctl contract set ${operation.leaf} none`;
    throw withHint(error, { hint, details: {} });
  }
}

/**
 * Reads what exists of the spaces of some documents: the list of spaces once for all, and the agents of each space. Lists
 * that the token may not read, or that the service does not have, are left out.
 */
export class Observer {
  private readonly http: Http;
  private readonly wanted: ReadonlySet<string>;
  private readonly facts: ReadonlyMap<string, SpaceFact>;
  private readonly onUnavailable: (list: string, reason: Error) => Promise<void>;
  private spaces: Promise<SpaceList | undefined> | undefined;
  private hasExpired = false;

  /** @param onUnavailable is told of a list that cannot be read, and why */
  constructor(
    http: Http,
    documents: readonly ManifestDocument[],
    facts: ReadonlyMap<string, SpaceFact>,
    onUnavailable: (list: string, reason: Error) => Promise<void>,
  ) {
    this.http = http;
    this.wanted = new Set(documents.map(({ manifest }) => manifest.external_space_id));
    this.facts = facts;
    this.onUnavailable = onUnavailable;
  }

  /** Reads the list of spaces, if it was not read yet. @throws PartnerctlError if reading it may succeed later */
  async prepare(): Promise<void> {
    await this.listedSpaces();
  }

  /** Lets the next observation read the list of spaces again. */
  expire(): void {
    this.hasExpired = true;
    this.spaces = undefined;
  }

  /**
   * Observes the space of a document.
   * @throws PartnerctlError if a list cannot be read now; ShapeError if it does not show by what the space or its agents are
   *   known
   */
  async observe({ manifest: { external_space_id } }: ManifestDocument): Promise<Observation> {
    const spaces = await this.listedSpaces();
    const fact = this.facts.get(external_space_id);
    // Without a list, the state alone tells which space it is.
    const space = spaces ? spaces.get(external_space_id) : fact && { space_id: fact.space_id };
    if (!space) return { space, agents: [], fact };
    return { space, agents: await this.listAgents(space.space_id), fact };
  }

  private listedSpaces(): Promise<SpaceList | undefined> {
    this.spaces ??= this.readSpaces();
    return this.spaces;
  }

  /** The spaces of the documents, by the external id in the manifest; undefined if they cannot be listed. */
  private async readSpaces(): Promise<SpaceList | undefined> {
    const byId = new Map<string, ListedSpace>();
    const found = new Map<string, ListedSpace>();
    let first: JsonObject | undefined;
    let hasExternalIds = false;
    try {
      for await (const space of listSpaces(this.http)) {
        first ??= space.item;
        const { space_id, external_space_id: id } = space;
        hasExternalIds ||= id !== undefined;
        byId.set(space_id, space);
        if (typeof id !== 'string' || !this.wanted.has(id)) continue;
        const earlier = found.get(id);
        // A space may be listed twice: pages shift while spaces are created.
        if (earlier && earlier.space_id !== space_id) {
          throw new ShapeError(`The service lists several spaces with the external_space_id ${JSON.stringify(id)}.`);
        }
        found.set(id, space);
      }
    } catch (error) {
      return await this.withoutList(error, 'spaces', first !== undefined);
    }
    if (first && !hasExternalIds) refuseItem(this.http, OPERATIONS.listSpaces, first, 'space.external_space_id');
    for (const id of this.wanted) {
      const recorded = byId.get(this.facts.get(id)?.space_id ?? '');
      if (recorded && !found.has(id) && !this.isAnother(recorded)) found.set(id, recorded);
    }
    return found;
  }

  /** Whether a space is known by the external id that the service lists: then it was renamed, and is another document's. */
  private isAnother({ external_space_id: id, space_id }: ListedSpace): boolean {
    return typeof id === 'string' && (this.wanted.has(id) || this.facts.get(id)?.space_id === space_id);
  }

  /**
   * The agents of a space; undefined if they cannot be listed.
   * @throws ShapeError when an agent has no name: it may be one that would be installed again
   */
  async listAgents(spaceId: string): Promise<readonly ListedAgent[] | undefined> {
    const { http } = this;
    const agents: ListedAgent[] = [];
    let nameless: JsonObject | undefined;
    try {
      for await (const agent of agentsOf(http, spaceId)) {
        agents.push(agent);
        const isUnnamed = fieldsOf(agent.item, 'agent', http.contract).value('agent.name') === null;
        if (agent.name === undefined && !isUnnamed) nameless = agent.item;
      }
    } catch (error) {
      return await this.withoutList(error, 'agents', agents.length > 0);
    }
    if (nameless) refuseItem(http, OPERATIONS.listAgents, nameless, 'agent.name');
    return agents;
  }

  /** @throws PartnerctlError unless the list is unavailable for good */
  private async withoutList(error: unknown, list: 'spaces' | 'agents', isPartlyRead: boolean): Promise<undefined> {
    const failure = toListFailure(error, { name: `the list of ${list}`, wasRead: false, isPartlyRead });
    if (!(failure instanceof ListUnavailable)) throw this.named(failure, list);
    if (isTokenRejected(error)) throw this.named(error, list);
    await this.onUnavailable(list, failure.reason);
    return undefined;
  }

  private named(error: unknown, list: 'spaces' | 'agents'): unknown {
    if (list !== 'spaces') return error;
    return nameListFailure(error, 'the list of spaces', this.hasExpired ? undefined : 'Nothing was sent.');
  }
}
