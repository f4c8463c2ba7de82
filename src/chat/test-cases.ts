import pLimit from 'p-limit';
import { listSpaces } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { type AgentReference, findSpaceIn, parseReference, resolveSpaceId } from '../api/references.ts';
import type { ListedSpace } from '../contract/resources.ts';
import { InterruptedError, PartnerctlError, stopsRun, UsageError } from '../errors.ts';
import { Paged } from '../platform/paged.ts';
import type { TestCase, TestTarget } from './run-tests.ts';
import { type FormatCommand, findAgentSource } from './source.ts';
import type { ConversationTest } from './test-file.ts';

/** An agent of each of several spaces, which are as typed; undefined for that of an agent_id. */
interface AgentAudience {
  readonly spaces: readonly (string | undefined)[];
  /** For conversations that name none. */
  readonly agent: AgentReference | undefined;
}

/** Whom conversations are held with. */
export type TestAudience = { readonly source_id: string } | AgentAudience;

/** How many agents are looked up at a time. */
const CONCURRENCY = 8;

const NOBODY: TestTarget = { external_space_id: null, space_id: null, agent_id: null, agent: null };

const nameOf = ({ by, value }: AgentReference): string | null => (by === 'name' ? value : null);

function externalIdOf(space = ''): string | null {
  const { by, value } = parseReference(space);
  return by === 'external_space_id' ? value : null;
}

/** Lists the spaces. @returns them by external id */
async function listSpacesById(http: Http): Promise<ReadonlyMap<string, ListedSpace>> {
  const spaces = new Map<string, ListedSpace>();
  for await (const space of listSpaces(http)) {
    if (typeof space.external_space_id === 'string') spaces.set(space.external_space_id, space);
  }
  return spaces;
}

type Found = Pick<TestCase, 'target' | 'source'>;

/**
 * Returns a function that finds an agent and its source, each once. Lists the spaces once, however many there are.
 * The function throws only what stops the run.
 */
function agentFinder(http: Http, toCommand: FormatCommand) {
  const limit = pLimit(CONCURRENCY);
  const found = new Map<string, Promise<Found>>();
  let listed: Promise<ReadonlyMap<string, ListedSpace>> | undefined;

  async function spaceIdOf(space: string): Promise<string> {
    const reference = parseReference(space);
    if (reference.by !== 'external_space_id') return await resolveSpaceId(http, reference);
    listed ??= listSpacesById(http);
    const spaces = await listed;
    const known = spaces.get(reference.value) ?? (await findSpaceIn(Paged.of(spaces.values()), reference));
    return known.space_id;
  }

  async function find(space: string | undefined, agent: AgentReference): Promise<Found> {
    const external_space_id = externalIdOf(space);
    try {
      const place = space === undefined ? { space } : { space, spaceId: await spaceIdOf(space) };
      const { source_id, space_id, agent_id, name } = await findAgentSource(http, { agent, ...place }, toCommand);
      return { target: { external_space_id, space_id, agent_id, agent: name ?? nameOf(agent) }, source: source_id };
    } catch (error) {
      if (!(error instanceof PartnerctlError) || error instanceof InterruptedError || stopsRun(error)) throw error;
      return { target: { ...NOBODY, external_space_id, agent: nameOf(agent) }, source: error };
    }
  }

  return (space: string | undefined, agent: AgentReference): Promise<Found> => {
    const key = JSON.stringify([space, agent.by, agent.value]);
    const finding = found.get(key) ?? limit(() => find(space, agent));
    found.set(key, finding);
    return finding;
  };
}

function agentOf({ agent, source }: ConversationTest, { agent: typed, spaces }: AgentAudience): AgentReference {
  const named = agent ?? typed;
  if (!named) {
    throw new UsageError(`The conversation at ${source} names no agent.`, {
      hint: 'Name it in the file (agent: name:Support), or with --agent.',
    });
  }
  if (named.by === 'id' || !spaces.includes(undefined)) return named;
  const what = agent ? `The conversation at ${source} has its agent by name, which` : '--agent with a name';
  throw new UsageError(`${what} needs --space or --manifests.`, {
    hint: 'Add --space <space_id | ext:<id> | name:<name>>, or give the agent_id.',
  });
}

/**
 * Pairs each conversation with each space, and looks for the agents. That one was not found is the outcome of its
 * conversations.
 * @throws UsageError for a conversation that names no agent, one without its space, or one beside a source;
 *   InterruptedError; CredentialsError and BalanceError, which every conversation would get
 */
export async function findCases(
  http: Http,
  tests: readonly ConversationTest[],
  audience: TestAudience,
  toCommand: FormatCommand,
): Promise<readonly TestCase[]> {
  if ('source_id' in audience) {
    const named = tests.find(({ agent }) => agent !== undefined);
    if (named) throw new UsageError(`The conversation at ${named.source} names an agent: give --space, not --source.`);
    return tests.map((test, index) => ({ index, test, target: NOBODY, source: audience.source_id }));
  }
  const named = tests.map((test) => ({ ...test, agent: agentOf(test, audience) }));
  const pairs = audience.spaces.flatMap((space) => named.map((test) => ({ space, test })));
  const find = agentFinder(http, toCommand);
  return await Promise.all(
    pairs.map(async ({ space, test }, index) => ({ index, test, ...(await find(space, test.agent)) })),
  );
}
