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

/** Whom conversations are held with: a source, or an agent of each of several spaces, which are as typed if at all. */
export type TestAudience =
  | { readonly source_id: string }
  | { readonly spaces: readonly (string | undefined)[]; readonly agent: AgentReference | undefined };

/** How many agents are looked up at a time. */
const CONCURRENCY = 8;

function externalIdOf(space = ''): string | null {
  const { by, value } = parseReference(space);
  return by === 'external_space_id' ? value : null;
}

/** Finds agents and their sources, each once. Lists the spaces once, however many there are. */
class TargetFinder {
  private readonly http: Http;
  private readonly toCommand: FormatCommand;
  private readonly limit = pLimit(CONCURRENCY);
  private readonly found = new Map<string, Promise<TestCase['target']>>();
  private spaces: Promise<ReadonlyMap<string, ListedSpace>> | undefined;

  constructor(http: Http, toCommand: FormatCommand) {
    this.http = http;
    this.toCommand = toCommand;
  }

  /** Returns the agent, or why it was not found. @throws what stops the run */
  find(space: string | undefined, agent: AgentReference): Promise<TestCase['target']> {
    const key = JSON.stringify([space, agent.by, agent.value]);
    const target = this.found.get(key) ?? this.limit(() => this.tryToFind(space, agent));
    this.found.set(key, target);
    return target;
  }

  private async tryToFind(space: string | undefined, agent: AgentReference): Promise<TestCase['target']> {
    try {
      return await this.lookUp(space, agent);
    } catch (error) {
      if (!(error instanceof PartnerctlError) || error instanceof InterruptedError || stopsRun(error)) throw error;
      return error;
    }
  }

  private async lookUp(space: string | undefined, agent: AgentReference): Promise<TestTarget> {
    const place = space === undefined ? { space } : { space, spaceId: await this.spaceIdOf(space) };
    const found = await findAgentSource(this.http, { agent, ...place }, this.toCommand);
    const { agent_id, name = null, source_id, space_id } = found;
    return { source_id, external_space_id: externalIdOf(space), space_id, agent_id, agent: name };
  }

  private async spaceIdOf(space: string): Promise<string> {
    const reference = parseReference(space);
    if (reference.by !== 'external_space_id') return await resolveSpaceId(this.http, reference);
    this.spaces ??= this.listSpaces();
    const spaces = await this.spaces;
    const known = spaces.get(reference.value) ?? (await findSpaceIn(Paged.of(spaces.values()), reference));
    return known.space_id;
  }

  private async listSpaces(): Promise<ReadonlyMap<string, ListedSpace>> {
    const spaces = new Map<string, ListedSpace>();
    for await (const space of listSpaces(this.http)) {
      if (typeof space.external_space_id === 'string') spaces.set(space.external_space_id, space);
    }
    return spaces;
  }
}

function agentOf({ agent, source }: ConversationTest, typed: AgentReference | undefined): AgentReference {
  const named = agent ?? typed;
  if (named) return named;
  throw new UsageError(`The conversation at ${source} names no agent.`, {
    hint: 'Name it in the file (agent: name:Support), or with --agent.',
  });
}

/**
 * Pairs each conversation with each space, and looks for the agents. That one was not found is the outcome of its
 * conversations.
 * @throws UsageError for a conversation that names no agent, or one beside a source; InterruptedError; CredentialsError
 *   and BalanceError, which every conversation would get
 */
export async function findCases(
  http: Http,
  tests: readonly ConversationTest[],
  audience: TestAudience,
  toCommand: FormatCommand,
): Promise<readonly TestCase[]> {
  if ('source_id' in audience) {
    const { source_id } = audience;
    const target: TestTarget = { source_id, external_space_id: null, space_id: null, agent_id: null, agent: null };
    const named = tests.find(({ agent }) => agent !== undefined);
    if (named) throw new UsageError(`The conversation at ${named.source} names an agent: give --space, not --source.`);
    return tests.map((test, index) => ({ index, test, external_space_id: null, target }));
  }
  const named = tests.map((test) => ({ ...test, agent: agentOf(test, audience.agent) }));
  const pairs = audience.spaces.flatMap((space) => named.map((test) => ({ space, test })));
  const finder = new TargetFinder(http, toCommand);
  const finding = pairs.map(async ({ space, test }, index) => {
    return { index, test, external_space_id: externalIdOf(space), target: await finder.find(space, test.agent) };
  });
  return await Promise.all(finding);
}
