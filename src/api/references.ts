import { fieldsOf } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { ListedAgent, ListedSpace } from '../contract/resources.ts';
import { canonicalId } from '../contract/values.ts';
import { NotFoundError, UsageError } from '../errors.ts';
import { listAgents, listSpaces } from './calls.ts';
import type { Http } from './http.ts';
import { itemError } from './list-failure.ts';

/** How the command line names a space: by id, or by a field to look up in the list of spaces. */
export interface Reference {
  readonly by: 'id' | 'external_space_id' | 'name';
  readonly value: string;
}

/** How the command line names an agent. */
export interface AgentReference extends Reference {
  readonly by: 'id' | 'name';
}

/** Parses `<space>`: a space_id, `ext:<external_space_id>`, or `name:<name>`. */
export function parseReference(text: string): Reference {
  if (text.startsWith('ext:')) return { by: 'external_space_id', value: text.slice('ext:'.length) };
  return text.startsWith('name:') ? { by: 'name', value: text.slice('name:'.length) } : { by: 'id', value: text };
}

/** Parses `<agent>`: an agent_id, or `name:<name>`. @throws UsageError for `ext:`, which only a space has */
export function parseAgentReference(text: string): AgentReference {
  const { by, value } = parseReference(text);
  if (by !== 'external_space_id') return { by, value };
  throw new UsageError(`${JSON.stringify(text)} does not name an agent: only spaces have an external id.`, {
    hint: 'Use the agent_id, or name:<name>.',
  });
}

/**
 * Resolves a reference to a space_id. Looks up any reference other than an id in the list of spaces.
 * @throws NotFoundError if no space matches, and UsageError if several do, both with candidates; ShapeError if an item
 * cannot be read, or if the list does not include the field
 */
export async function resolveSpaceId(http: Http, reference: Reference): Promise<string> {
  return reference.by === 'id' ? reference.value : (await findSpace(http, reference)).space_id;
}

/** Looks up a space in the list of spaces. @throws as `resolveSpaceId`, also for an unknown space_id */
export async function findSpace(http: Http, reference: Reference): Promise<ListedSpace> {
  const list = { list: 'listSpaces', resource: 'space', command: 'partnerctl spaces list' } as const;
  return await findUnique(http, reference, { ...list, rows: listSpaces(http), idOf: ({ space_id }) => space_id });
}

/** Resolves a reference to an agent_id. Looks up a name in the list of the space's agents. @throws as `resolveAgent` */
export async function resolveAgentId(http: Http, spaceId: string, reference: AgentReference): Promise<string> {
  return reference.by === 'id' ? reference.value : (await resolveAgent(http, spaceId, reference)).agent_id;
}

/** Looks up an agent in the list of the space's agents. @throws as `resolveSpaceId` and `listAgents` */
export async function resolveAgent(http: Http, spaceId: string, reference: AgentReference): Promise<ListedAgent> {
  const list = { list: 'listAgents', resource: 'agent', command: `partnerctl agents list ${spaceId}` } as const;
  const rows = listAgents(http, spaceId);
  return await findUnique<ListedAgent>(http, reference, { ...list, rows, idOf: ({ agent_id }) => agent_id });
}

/** Looks for an agent in every space that the token can access. @throws NotFoundError if none has it */
export async function findAgentAnywhere(http: Http, agentId: string): Promise<ListedAgent> {
  for await (const { space_id } of listSpaces(http)) {
    for await (const agent of listAgents(http, space_id)) {
      if (canonicalId(agent.agent_id) === canonicalId(agentId)) return agent;
    }
  }
  throw new NotFoundError(`No space that the token can access has the agent ${JSON.stringify(agentId)}.`, {
    hint: `To give a name, write name:${agentId}, with --space. List the agents with: partnerctl agents list <space>`,
  });
}

/** What a reference may name. */
interface Named {
  readonly name: string | undefined;
  readonly external_space_id?: string | null | undefined;
  readonly item: JsonObject;
}

/** A list in which a reference is looked up. */
interface Lookup<Row> {
  readonly list: 'listSpaces' | 'listAgents';
  readonly resource: 'space' | 'agent';
  /** The command that shows the list. */
  readonly command: string;
  readonly rows: AsyncIterable<Row>;
  readonly idOf: (row: Row) => string;
}

const MAX_CANDIDATES = 10;

/** Reads the whole list, because a second match makes the reference ambiguous. @throws as `resolveSpaceId` */
async function findUnique<Row extends Named>(
  { contract }: Http,
  { by, value }: Reference,
  { list, resource, command, rows, idOf }: Lookup<Row>,
): Promise<Row> {
  const field = by === 'id' ? `${resource}_id` : by;
  const matches = new Map<string, Row>();
  const all: Row[] = [];
  // A list without the field cannot prove that nothing matches.
  let isProof = false;
  for await (const row of rows) {
    const found = by === 'id' ? canonicalId(idOf(row)) : row[by];
    isProof ||= found !== undefined;
    // Pages shift while a list grows, so an item may appear twice.
    if (found === (by === 'id' ? canonicalId(value) : value)) matches.set(idOf(row), row);
    if (all.length < MAX_CANDIDATES) all.push(row);
  }
  const [match, ...others] = matches.values();
  if (match && others.length === 0) return match;
  const [first] = all;
  if (first && !isProof) {
    const message = `The service lists ${resource}s without their ${field}, so they cannot be matched by it.`;
    const leaf = by === 'name' ? (`${resource}.name` as const) : 'space.external_space_id';
    throw itemError(fieldsOf(first.item, resource, contract).unreadable(leaf, message), OPERATIONS[list]);
  }
  const candidates = [...(match ? matches.values() : all)].slice(0, MAX_CANDIDATES);
  const lines = candidates.map((row) =>
    [idOf(row), row.name, row.external_space_id && `ext:${row.external_space_id}`].filter(Boolean).join(' · '),
  );
  const info = {
    why: lines.join('\n') || `The list has no ${resource}s.`,
    hint: `List all ${resource}s with: ${command}`,
    details: { candidates: candidates.map(idOf) },
  };
  const named = `the ${field} ${JSON.stringify(value)}`;
  if (match) {
    const hint = `Use the ${resource}_id of the one you mean.`;
    throw new UsageError(`${matches.size} ${resource}s have ${named}.`, { ...info, hint });
  }
  throw new NotFoundError(`No ${resource} has ${named}.`, info);
}
