import { listAgents, listSpaces } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { itemError, ListUnavailable, nameListFailure, toListFailure } from '../api/list.ts';
import { Fields } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS, type Operation } from '../contract/operations.ts';
import type { ListedAgent, ListedSpace } from '../contract/resources.ts';
import type { UnknownShape } from '../contract/unknown-shape.ts';
import { isTokenRejected, type PartnerctlError, ShapeError, withHint } from '../errors.ts';
import type { SpaceFact } from '../state/space-record.ts';
import type { ManifestDocument } from './manifest.ts';

/** A space as the service lists it, or else as the state recorded it. */
export type PresentSpace = Partial<ListedSpace> & Pick<ListedSpace, 'space_id'>;

/** What is known of a space before anything is sent. */
export interface Observation {
  /** Undefined if there is none, or none is known. */
  readonly space: PresentSpace | undefined;
  /** Its agents; undefined if they cannot be listed. */
  readonly agents: readonly ListedAgent[] | undefined;
  readonly fact: SpaceFact | undefined;
}

/** The spaces of the documents, by the external id in the manifest. */
type SpaceList = ReadonlyMap<string, ListedSpace>;

/** The error for a list whose items lack the field by which the tool knows what exists. */
function itemsError(shape: UnknownShape, operation: Operation): PartnerctlError {
  const hint = `If the service does not list it, go on without the list: partnerctl contract set ${operation.leaf} none`;
  return withHint(itemError(shape, operation), { hint });
}

interface ObserverDeps {
  readonly http: Http;
  readonly documents: readonly ManifestDocument[];
  readonly facts: ReadonlyMap<string, SpaceFact>;
  /** Called with a list that cannot be read, and why. */
  readonly onUnavailable: (list: 'spaces' | 'agents', reason: Error) => Promise<void>;
}

/**
 * Reads what exists: the list of spaces once for all documents, and the agents of each space. Lists that the token may
 * not read, or that the service does not have, are left out.
 */
export class Observer {
  private readonly deps: ObserverDeps;
  private spaces: Promise<SpaceList | undefined> | undefined;
  /** The listed spaces that no document describes, as they were last read. */
  others: readonly ListedSpace[] = [];

  constructor(deps: ObserverDeps) {
    this.deps = deps;
  }

  /** Reads the list of spaces before anything is sent. @throws PartnerctlError if reading it may succeed later */
  async prepare(): Promise<void> {
    try {
      this.spaces = this.readSpaceList();
      await this.spaces;
    } catch (error) {
      throw nameListFailure(error, 'the list of spaces', 'Nothing was sent.');
    }
  }

  /** Lets the next observation read the list of spaces again. */
  expire(): void {
    this.spaces = undefined;
  }

  /** Observes the space of a document. @throws PartnerctlError if a list cannot be read now, or cannot be understood */
  async observe({ manifest: { external_space_id } }: ManifestDocument): Promise<Observation> {
    this.spaces ??= this.readSpaceList();
    const spaces = await this.spaces;
    const fact = this.deps.facts.get(external_space_id);
    // Without a list, the state alone tells which space it is.
    const space = spaces ? spaces.get(external_space_id) : fact && { space_id: fact.space_id };
    if (!space) return { space, agents: [], fact };
    return { space, agents: await this.listAgents(space.space_id), fact };
  }

  private async readSpaceList(): Promise<SpaceList | undefined> {
    const { http, documents, facts } = this.deps;
    const wanted = new Set(documents.map(({ manifest }) => manifest.external_space_id));
    const recordedIds = new Map([...facts].map(([id, fact]) => [fact.space_id, id]));
    const recorded = new Map<string, ListedSpace>();
    const found = new Map<string, ListedSpace>();
    const others = new Map<string, ListedSpace>();
    let withoutId: JsonObject | undefined;
    let hasIds = false;
    let isPartlyRead = false;
    try {
      for await (const space of listSpaces(http)) {
        isPartlyRead = true;
        const { space_id, external_space_id: id } = space;
        if (id === undefined) withoutId ??= space.item;
        else hasIds = true;
        // One that is listed without its external id, or with another spelling of it, is known by its record.
        const recordedId = recordedIds.get(space_id);
        if (typeof id === 'string' && wanted.has(id)) {
          // Pages that shift while spaces are created show one twice.
          const earlier = found.get(id)?.space_id ?? space_id;
          if (earlier !== space_id)
            throw new ShapeError(`The service lists several spaces with the external_space_id ${JSON.stringify(id)}.`, {
              why: `They are ${earlier} and ${space_id}.`,
              hint: "Nothing was sent. If another field is the external id, run: partnerctl contract set space.external_space_id '<path>'",
            });
          found.set(id, space);
        } else if (recordedId !== undefined && wanted.has(recordedId)) recorded.set(recordedId, space);
        else others.set(space_id, space);
      }
    } catch (error) {
      return await this.withoutList(error, 'spaces', isPartlyRead);
    }
    if (withoutId && !hasIds) {
      const fields = new Fields(withoutId, 'space', http.contract);
      const shape = fields.unreadable('space.external_space_id', 'A listed space has no external id.');
      throw itemsError(shape, OPERATIONS.listSpaces);
    }
    this.others = [...others.values()];
    return new Map([...recorded, ...found]);
  }

  /**
   * The agents of a space; undefined if they cannot be listed.
   * @throws ShapeError when an agent has no name: it may be one that would be installed again
   */
  async listAgents(spaceId: string): Promise<readonly ListedAgent[] | undefined> {
    const { http } = this.deps;
    const agents: ListedAgent[] = [];
    try {
      for await (const agent of listAgents(http, spaceId)) agents.push(agent);
    } catch (error) {
      return await this.withoutList(error, 'agents', agents.length > 0);
    }
    for (const { item } of agents.filter(({ name }) => name === undefined)) {
      const fields = new Fields(item, 'agent', http.contract);
      if (fields.value('agent.name') === null) continue;
      throw itemsError(fields.unreadable('agent.name', 'A listed agent has no name.'), OPERATIONS.listAgents);
    }
    return agents;
  }

  /** @throws PartnerctlError unless the list is unavailable for good */
  private async withoutList(error: unknown, list: 'spaces' | 'agents', isPartlyRead: boolean): Promise<undefined> {
    const failure = toListFailure(error, `the list of ${list}`, isPartlyRead);
    if (!(failure instanceof ListUnavailable)) throw failure;
    if (isTokenRejected(error)) throw error;
    await this.deps.onUnavailable(list, failure.reason);
    return undefined;
  }
}
