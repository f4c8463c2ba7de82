import { readAgent } from '../contract/agents.ts';
import type { Contract } from '../contract/contract.ts';
import { fieldsOf } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { readSpace } from '../contract/spaces.ts';
import { canonicalId } from '../contract/values.ts';
import { NotFoundError, type PartnerctlError, UsageError, withHint } from '../errors.ts';
import type { Paged } from '../platform/paged.ts';
import { readItem } from './api-response.ts';
import { listAgents, listSpaces } from './calls.ts';
import type { Http } from './http.ts';
import { itemError } from './shape-errors.ts';
import { SpaceAgents } from './space-agents.ts';
import type { SpaceRow } from './space-rows.ts';

/** How the command line names a space: by id, or by a field to look up in the list of spaces. */
export type Reference =
  | { readonly by: 'id'; readonly value: string }
  | { readonly by: 'external_space_id' | 'name'; readonly value: string };

/** How the command line names an agent. */
export type AgentReference = { readonly by: 'id' | 'name'; readonly value: string };

const PREFIXES = { 'ext:': 'external_space_id', 'name:': 'name' } as const;

/** Parses `<space>`: a space_id, `ext:<external_space_id>`, or `name:<name>`. */
export function parseReference(text: string): Reference {
  for (const [prefix, by] of Object.entries(PREFIXES)) {
    if (text.startsWith(prefix)) return { by, value: text.slice(prefix.length) };
  }
  return { by: 'id', value: text };
}

/**
 * Parses `<agent>`: an agent_id, or `name:<name>`.
 * @throws UsageError for `ext:`, which only a space has
 */
export function parseAgentReference(text: string): AgentReference {
  const { by, value } = parseReference(text);
  if (by !== 'external_space_id') return { by, value };
  throw new UsageError(`${JSON.stringify(text)} does not name an agent: only spaces have an external id.`, {
    hint: 'Use the agent_id, or name:<name>.',
  });
}

/** What a reference may name. */
interface Candidate {
  readonly id: string;
  readonly name: string | undefined;
  readonly external_space_id?: string | null | undefined;
  readonly template_id?: string | undefined;
  readonly source_id?: string | null | undefined;
}

/** What a reference names, with what the service sent. */
interface Match extends Candidate {
  readonly item: JsonObject;
}

/** A list in which a reference is looked up. */
interface Lookup {
  readonly resource: 'space' | 'agent';
  readonly items: Paged<JsonObject>;
  /** Returns undefined for an item of another list. */
  readonly read: (item: JsonObject, contract: Contract) => Candidate | undefined;
  /** The command that shows the whole list. */
  readonly listCommand: string;
  /** Checks the whole list. */
  readonly check?: () => void;
}

const LISTS = { space: OPERATIONS.listSpaces, agent: OPERATIONS.listAgents } as const;

/**
 * Resolves a reference to a space_id. Looks up any reference other than an id in the list of spaces.
 * @throws NotFoundError if no space matches, and UsageError if several do, both with candidates; ShapeError if an
 * item cannot be read, or if the list does not include the field
 */
export async function resolveSpaceId(http: Http, reference: Reference): Promise<string> {
  return reference.by === 'id' ? reference.value : (await findSpace(http, reference)).space.space_id;
}

/** Looks up a space in the list of spaces. @throws as `resolveSpaceId`, also for an unknown space_id */
export async function findSpace(http: Http, { by, value }: Reference): Promise<SpaceRow> {
  const read: Lookup['read'] = (item, contract) => {
    const { space_id: id, name, external_space_id } = readSpace(item, contract);
    return { id, name, external_space_id };
  };
  const lookup: Lookup = { resource: 'space', items: listSpaces(http), read, listCommand: 'partnerctl spaces list' };
  const { item } = await findUnique(http, lookup, by, value);
  return { space: readSpace(item, http.contract), item };
}

/**
 * Resolves a reference to an agent_id. Looks up a name in the list of the space's agents.
 * @throws as `resolveSpaceId` and `SpaceAgents.check`, and NotFoundError if the space does not exist
 */
export async function resolveAgentId(http: Http, spaceId: string, { by, value }: AgentReference): Promise<string> {
  return by === 'id' ? value : (await resolveAgent(http, spaceId, { by, value })).id;
}

/** An agent, and its API chat source as the list shows it: null if it has none, undefined if the list does not say. */
export type ResolvedAgent = Pick<Candidate, 'id' | 'source_id'>;

/** Looks up an agent in the list of the space's agents. @throws as `resolveAgentId`, also for an unknown agent_id */
export async function resolveAgent(http: Http, spaceId: string, { by, value }: AgentReference): Promise<ResolvedAgent> {
  const own = new SpaceAgents(spaceId);
  const read: Lookup['read'] = (item, contract) => {
    const agent = readAgent(item, contract);
    const { agent_id: id, name, template_id, source_id } = agent;
    return by === 'id' || own.includes(agent) ? { id, name, template_id, source_id } : undefined;
  };
  const listCommand = `partnerctl agents list ${spaceId}`;
  const lookup: Lookup = { resource: 'agent', items: listAgents(http, spaceId), read, listCommand };
  return await findUnique(http, by === 'id' ? lookup : { ...lookup, check: () => own.check() }, by, value);
}

/** Looks for an agent in every space that the token can access. @throws NotFoundError if none has it */
export async function findAgentAnywhere(http: Http, agentId: string): Promise<ResolvedAgent> {
  for await (const space of listSpaces(http)) {
    const { space_id } = readItem(OPERATIONS.listSpaces, () => readSpace(space, http.contract));
    for await (const item of listAgents(http, space_id)) {
      const agent = readItem(OPERATIONS.listAgents, () => readAgent(item, http.contract));
      if (canonicalId(agent.agent_id) === canonicalId(agentId))
        return { id: agent.agent_id, source_id: agent.source_id };
    }
  }
  throw new NotFoundError(`No space that the token can access has the agent ${JSON.stringify(agentId)}.`, {
    hint: `To give a name, write name:${agentId}, with --space. List the agents with: partnerctl agents list <space>`,
  });
}

const MAX_CANDIDATES = 10;
const EMPTY_LIST = {
  space: 'There are no spaces that the token can access.',
  agent: 'The space has no agents.',
} as const;

/**
 * Reads the whole list, because a second match makes the reference ambiguous.
 * @throws NotFoundError, UsageError, ShapeError as `resolveSpaceId`
 */
async function findUnique(http: Http, lookup: Lookup, by: Reference['by'], value: string): Promise<Match> {
  const { resource, items, read, listCommand } = lookup;
  const field = by === 'id' ? `${resource}_id` : by;
  const wanted = by === 'id' ? canonicalId(value) : value;
  const matches = new Map<string, Match>();
  const similar: Candidate[] = [];
  const others: Candidate[] = [];
  let hasField = false;
  let without: JsonObject | undefined;
  for await (const item of items) {
    const candidate = readItem(LISTS[resource], () => read(item, http.contract));
    if (!candidate) continue;
    const found = by === 'id' ? canonicalId(candidate.id) : candidate[by];
    if (found === undefined) without = item;
    else hasField = true;
    // Pages shift while a list grows, so an item may appear twice.
    if (found === wanted) matches.set(candidate.id, { ...candidate, item });
    else if (isSimilar(found, value)) addTo(similar, candidate);
    else addTo(others, candidate);
  }
  lookup.check?.();
  const [match, ...more] = matches.values();
  if (match && more.length === 0) return match;
  if (match) {
    throw new UsageError(`${matches.size} ${resource}s have the ${field} ${JSON.stringify(value)}.`, {
      why: describeAll([match, ...more]),
      hint: `Use the ${resource}_id of the one you mean.`,
      details: { candidates: [...matches.keys()] },
    });
  }
  const shown = similar.length > 0 ? similar : others;
  const details = { candidates: shown.map(({ id }) => id) };
  if (without && !hasField && by !== 'id') throw unlistedField(http, lookup, by, { item: without, details });
  throw new NotFoundError(`No ${resource} has the ${field} ${JSON.stringify(value)}.`, {
    why: shown.length === 0 ? EMPTY_LIST[resource] : `Some that exist:\n${describeAll(shown)}`,
    hint: `List all ${resource}s with: ${listCommand}`,
    details,
  });
}

function addTo(candidates: Candidate[], candidate: Candidate): void {
  if (candidates.length < MAX_CANDIDATES) candidates.push(candidate);
}

function isSimilar(found: string | null | undefined, wanted: string): boolean {
  if (!found) return false;
  const [a, b] = [found.toLowerCase(), wanted.toLowerCase()];
  return a.includes(b) || b.includes(a);
}

function describeAll(candidates: readonly Candidate[]): string {
  return candidates
    .slice(0, MAX_CANDIDATES)
    .map(({ id, name, external_space_id: external, template_id }) =>
      [id, name, external && `ext:${external}`, template_id].filter(Boolean).join(' · '),
    )
    .join('\n');
}

/** Returns the error for a list without the field, which cannot prove that nothing matches. @param item one of it */
function unlistedField(
  { contract }: Http,
  { resource, listCommand }: Lookup,
  field: 'name' | 'external_space_id',
  { item, details }: { readonly item: JsonObject; readonly details: Readonly<Record<string, unknown>> },
): PartnerctlError {
  const leaf = field === 'name' ? (`${resource}.name` as const) : 'space.external_space_id';
  const message = `The service lists ${resource}s without their ${field}, so they cannot be matched by it.`;
  const shape = fieldsOf(item, resource, contract).unreadable(leaf, message);
  const hint = `Or use the ${resource}_id. List the ${resource}s with: ${listCommand}`;
  return withHint(itemError(shape, LISTS[resource]), { hint, details });
}
