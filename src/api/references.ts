import type { ListedAgent, ListedSpace } from '../contract/resources.ts';
import { canonicalId } from '../contract/values.ts';
import { NotFoundError, UsageError } from '../errors.ts';
import type { Paged } from '../platform/paged.ts';
import { shellQuote, suggest } from '../platform/text.ts';
import { listAgents, listSpaces } from './calls.ts';
import type { Http } from './http.ts';

/** How the command line names a space: by id, or by a field to look up in the list of spaces. */
export interface Reference {
  readonly by: 'id' | 'external_space_id' | 'name';
  readonly value: string;
}

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

/** An agent as the command line names it: by name within a space; or by id, alone or within a space. */
export interface AgentInput {
  readonly agent: AgentReference;
  /** As typed. */
  readonly space: string | undefined;
}

/** Reads --agent and --space. @throws UsageError for a name without a space; as `parseAgentReference` */
export function parseAgentInput(typed: string, space: string | undefined): AgentInput {
  const agent = parseAgentReference(typed);
  if (agent.by === 'id' || space !== undefined) return { agent, space };
  throw new UsageError('--agent name:<name> needs --space.', {
    hint: 'Add --space <space_id | ext:<id> | name:<name>>, or give the agent_id.',
  });
}

/** Resolves a reference to a space_id. @throws NotFoundError; UsageError if several match; ShapeError */
export async function resolveSpaceId(http: Http, reference: Reference): Promise<string> {
  return reference.by === 'id' ? reference.value : (await findSpace(http, reference)).space_id;
}

/** Looks up a space in the list of spaces. @throws as `resolveSpaceId`, also for an unknown space_id */
export async function findSpace(http: Http, reference: Reference): Promise<ListedSpace> {
  return await findSpaceIn(listSpaces(http, 'show'), reference);
}

/** As `findSpace`, in spaces that were listed before. */
export async function findSpaceIn(spaces: Paged<ListedSpace>, reference: Reference): Promise<ListedSpace> {
  const rows = spaces.map((space) => ({ ...space, id: space.space_id }));
  return await findUnique('space', rows, reference, 'partnerctl spaces list');
}

/** Resolves a reference to an agent_id. Looks up a name in the list of the space's agents. @throws as `resolveAgent` */
export async function resolveAgentId(http: Http, spaceId: string, reference: AgentReference): Promise<string> {
  return reference.by === 'id' ? reference.value : (await resolveAgent(http, spaceId, reference)).agent_id;
}

/** Looks up an agent in the list of the space's agents. @throws as `resolveSpaceId` and `listAgents` */
export async function resolveAgent(http: Http, spaceId: string, reference: AgentReference): Promise<ListedAgent> {
  const agents = listAgents(http, spaceId, 'show').map((agent) => ({ ...agent, id: agent.agent_id }));
  return await findUnique('agent', agents, reference, `partnerctl agents list ${spaceId}`);
}

interface Named {
  readonly id: string;
  readonly name: string | undefined;
  readonly external_space_id?: string | null | undefined;
}

const MAX_CANDIDATES = 10;

/** The words that name an item, each with the value to compare; its id is the last. */
function wordsOf({ id, name, external_space_id: externalId }: Named) {
  return [
    ...(externalId ? [{ words: `ext:${externalId}`, value: externalId }] : []),
    ...(name ? [{ words: `name:${name}`, value: name }] : []),
    { words: id, value: id },
  ];
}

/** The words that were probably meant, as a shell takes them: those of this value, else of the nearest. */
function nearestWords(value: string, rows: readonly Named[]): readonly string[] {
  const all = rows.flatMap(wordsOf);
  const values = all.map((each) => each.value);
  const meant = suggest(value, values)?.toLowerCase();
  const near = all.filter((each) => each.value.toLowerCase() === meant);
  return near.slice(0, MAX_CANDIDATES).map(({ words }) => shellQuote(words));
}

/** Reads the whole list: a second match makes the reference ambiguous. @param command shows the list */
async function findUnique<Row extends Named>(
  resource: 'space' | 'agent',
  rows: AsyncIterable<Row>,
  { by, value }: Reference,
  command: string,
): Promise<Row> {
  const isNamed = (row: Row) => (by === 'id' ? canonicalId(row.id) === canonicalId(value) : row[by] === value);
  // Pages shift while a list grows, so an item may appear twice.
  const matches = new Map<string, Row>();
  const others = new Map<string, Row>();
  for await (const row of rows) (isNamed(row) ? matches : others).set(row.id, row);
  const [match] = matches.values();
  if (match && matches.size === 1) return match;
  // Of a long list, only the nearest are worth reading.
  const listed = match ? matches : others;
  const candidates = match || others.size <= MAX_CANDIDATES ? [...listed.values()].slice(0, MAX_CANDIDATES) : [];
  const lines = candidates.map(({ id, name, external_space_id }) =>
    [id, name, external_space_id && `ext:${external_space_id}`].filter(Boolean).join(' · '),
  );
  const near = match ? [] : nearestWords(value, [...others.values()]);
  const didYouMean = `Did you mean ${new Intl.ListFormat('en-US', { type: 'disjunction' }).format(near)}? `;
  const info = {
    why: lines.join('\n') || (others.size === 0 ? `The list has no ${resource}s.` : undefined),
    hint: match
      ? `Use the ${resource}_id of the one you mean.`
      : `${near.length > 0 ? didYouMean : ''}List all ${resource}s with: ${command}`,
    details: { candidates: candidates.map(({ id }) => id) },
  };
  const named = `the ${by === 'id' ? `${resource}_id` : by} ${JSON.stringify(value)}`;
  if (match) throw new UsageError(`${matches.size} ${resource}s have ${named}.`, info);
  throw new NotFoundError(`No ${resource} has ${named}.`, info);
}
