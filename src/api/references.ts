import { readAgent } from '../contract/agents.ts';
import type { Contract } from '../contract/contract.ts';
import { fieldsOf } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { readSpace } from '../contract/spaces.ts';
import { NotFoundError, ShapeError, UsageError, withHint } from '../errors.ts';
import { readItem } from './api-response.ts';
import { listAgents, listSpaces } from './calls.ts';
import type { Http } from './http.ts';
import { SpaceAgents } from './space-agents.ts';

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

/**
 * Resolves a reference to a space_id. Looks up any reference other than an id in the list of spaces.
 * @throws NotFoundError if no space matches, and UsageError if several do, both with candidates; ShapeError if an
 * item cannot be read, or if the list does not include the field
 */
export async function resolveSpaceId(http: Http, { by, value }: Reference): Promise<string> {
  if (by === 'id') return value;
  const { contract } = http;
  const wanted = { resource: 'space', field: by, value, listCommand: 'partnerctl spaces list', contract } as const;
  return (await findUnique(listSpaces(http), wanted)).id;
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
  const listCommand = `partnerctl agents list ${spaceId}`;
  const field = by === 'id' ? 'agent_id' : by;
  const own = by === 'name' ? new SpaceAgents(spaceId) : undefined;
  const wanted = { resource: 'agent', field, value, listCommand, contract: http.contract, own } as const;
  return await findUnique(listAgents(http, spaceId), wanted);
}

/** Looks for an agent in every space that the token can access. @throws NotFoundError if none has it */
export async function findAgentAnywhere(http: Http, agentId: string): Promise<ResolvedAgent> {
  for await (const space of listSpaces(http)) {
    const { space_id } = readItem(OPERATIONS.listSpaces, () => readSpace(space, http.contract));
    for await (const item of listAgents(http, space_id)) {
      const agent = readItem(OPERATIONS.listAgents, () => readAgent(item, http.contract));
      if (agent.agent_id === agentId) return { id: agentId, source_id: agent.source_id };
    }
  }
  throw new NotFoundError(`No space that the token can access has the agent ${JSON.stringify(agentId)}.`, {
    hint: `To give a name, write name:${agentId}, with --space. List the agents with: partnerctl agents list <space>`,
  });
}

interface Wanted {
  readonly resource: 'space' | 'agent';
  readonly field: 'external_space_id' | 'name' | 'agent_id';
  readonly value: string;
  /** The command that shows the whole list. */
  readonly listCommand: string;
  readonly contract: Contract;
  /** Of a space whose agents alone may match. */
  readonly own?: SpaceAgents | undefined;
}

/** A listed item that a reference may name. */
interface Candidate {
  readonly id: string;
  readonly name: string | undefined;
  readonly external_space_id?: string | null | undefined;
  readonly template_id?: string | undefined;
  readonly source_id?: string | null | undefined;
}

const LISTS = { space: OPERATIONS.listSpaces, agent: OPERATIONS.listAgents } as const;

/** @returns undefined for an agent of another space */
function readCandidate(item: JsonObject, { resource, contract, own }: Wanted): Candidate | undefined {
  return readItem(LISTS[resource], () => {
    if (resource === 'agent') {
      const agent = readAgent(item, contract);
      const { agent_id: id, name, template_id, source_id } = agent;
      return own?.includes(agent) === false ? undefined : { id, name, template_id, source_id };
    }
    const { space_id: id, name, external_space_id } = readSpace(item, contract);
    return { id, name, external_space_id };
  });
}

const MAX_CANDIDATES = 10;
const EMPTY_LIST = {
  space: 'There are no spaces that the token can access.',
  agent: 'The space has no agents.',
} as const;

function describeAll(shown: readonly Candidate[]): string {
  return shown
    .slice(0, MAX_CANDIDATES)
    .map(({ id, name, external_space_id: external, template_id }) =>
      [id, name, external && `ext:${external}`, template_id].filter(Boolean).join(' · '),
    )
    .join('\n');
}

/** Reads the whole list, because a second match makes the reference ambiguous. */
async function findUnique(items: AsyncIterable<JsonObject>, wanted: Wanted): Promise<Candidate> {
  const { resource, field, value, listCommand } = wanted;
  const { matches, candidates, unreadable } = await findMatches(items, wanted);
  const details = (shown: readonly Candidate[]) => ({ candidates: shown.map(({ id }) => id) });
  const [match, ...others] = matches;
  if (match === undefined) {
    if (unreadable) throw unlistedField(unreadable, wanted, details(candidates));
    throw new NotFoundError(`No ${resource} has the ${field} ${JSON.stringify(value)}.`, {
      why: candidates.length === 0 ? EMPTY_LIST[resource] : `Some that exist:\n${describeAll(candidates)}`,
      hint: `List all ${resource}s with: ${listCommand}`,
      details: details(candidates),
    });
  }
  if (others.length > 0) {
    throw new UsageError(`${matches.length} ${resource}s have the ${field} ${JSON.stringify(value)}.`, {
      why: describeAll(matches),
      hint: `Use the ${resource}_id of the one you mean.`,
      details: details(matches),
    });
  }
  return match;
}

/** The error for a list without the field, which cannot prove that nothing matches. */
function unlistedField(item: JsonObject, wanted: Wanted, details: Readonly<Record<string, unknown>>): unknown {
  const { resource, field, listCommand, contract } = wanted;
  const leaf = field !== 'external_space_id' ? (`${resource}.name` as const) : 'space.external_space_id';
  const message = `The service lists ${resource}s without their ${field}, so they cannot be matched by it.`;
  try {
    return readItem(LISTS[resource], () => {
      throw fieldsOf(item, resource, contract).unreadable(leaf, message);
    });
  } catch (error) {
    if (!(error instanceof ShapeError)) return error;
    return withHint(error, { hint: `Or use the ${resource}_id. List the ${resource}s with: ${listCommand}`, details });
  }
}

/**
 * Returns the matches, and a few other items to suggest: similar items if there are any.
 * @returns `unreadable` is an item without the field, if no item has it
 */
async function findMatches(items: AsyncIterable<JsonObject>, wanted: Wanted) {
  const { field, value } = wanted;
  const matches = new Map<string, Candidate>();
  const similar: Candidate[] = [];
  const others: Candidate[] = [];
  let unreadable: JsonObject | undefined;
  let hasField = false;
  for await (const item of items) {
    const candidate = readCandidate(item, wanted);
    if (!candidate) continue;
    const found = field === 'agent_id' ? candidate.id : candidate[field];
    if (found === undefined) unreadable = item;
    else hasField = true;
    // Pages shift while a list grows, so an item may appear twice.
    if (found === value) matches.set(candidate.id, candidate);
    else if (isSimilar(found, value) && similar.length < MAX_CANDIDATES) similar.push(candidate);
    else if (others.length < MAX_CANDIDATES) others.push(candidate);
  }
  wanted.own?.check();
  return {
    matches: [...matches.values()],
    candidates: similar.length > 0 ? similar : others,
    unreadable: hasField ? undefined : unreadable,
  };
}

function isSimilar(found: string | null | undefined, wanted: string): boolean {
  if (!found) return false;
  const [a, b] = [found.toLowerCase(), wanted.toLowerCase()];
  return a.includes(b) || b.includes(a);
}
