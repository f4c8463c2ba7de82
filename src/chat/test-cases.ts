import { listSpaces } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { type AgentReference, parseReference, resolveSpaceId } from '../api/references.ts';
import { NotFoundError, UsageError } from '../errors.ts';
import type { TestCase, TestTarget } from './run-tests.ts';
import { type FormatCommand, findAgentSource } from './source.ts';
import type { ConversationTest } from './test-file.ts';

/** Whom conversations are held with: a source, or an agent of each of several spaces, which are as typed if at all. */
export type TestAudience =
  | { readonly source_id: string }
  | { readonly spaces: readonly (string | undefined)[]; readonly agent: AgentReference | undefined };

function externalIdOf(space = ''): string | null {
  const { by, value } = parseReference(space);
  return by === 'external_space_id' ? value : null;
}

/** Finds agents and their sources, each once. Lists the spaces once, however many there are. */
class TargetFinder {
  private readonly http: Http;
  private readonly toCommand: FormatCommand;
  private readonly found = new Map<string, Promise<TestTarget>>();
  private spaceIds: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(http: Http, toCommand: FormatCommand) {
    this.http = http;
    this.toCommand = toCommand;
  }

  /** @throws NotFoundError if the space or the agent is not there, or the agent has no source */
  find(space: string | undefined, agent: AgentReference): Promise<TestTarget> {
    const key = JSON.stringify([space, agent.by, agent.value]);
    const target = this.found.get(key) ?? this.lookUp(space, agent);
    this.found.set(key, target);
    return target;
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
    this.spaceIds ??= this.listSpaceIds();
    const id = (await this.spaceIds).get(reference.value);
    if (id !== undefined) return id;
    throw new NotFoundError(`No space has the external_space_id ${JSON.stringify(reference.value)}.`, {
      hint: 'List all spaces with: partnerctl spaces list',
    });
  }

  private async listSpaceIds(): Promise<ReadonlyMap<string, string>> {
    const ids = new Map<string, string>();
    for await (const { external_space_id, space_id } of listSpaces(this.http)) {
      if (typeof external_space_id === 'string') ids.set(external_space_id, space_id);
    }
    return ids;
  }
}

/**
 * Pairs each conversation with each space. Agents and sources are looked up when a conversation begins.
 * @throws UsageError for a conversation that names no agent, or one beside a source
 */
export function testCases(
  http: Http,
  tests: readonly ConversationTest[],
  audience: TestAudience,
  toCommand: FormatCommand,
): readonly TestCase[] {
  if ('source_id' in audience) {
    const { source_id } = audience;
    const target: TestTarget = { source_id, external_space_id: null, space_id: null, agent_id: null, agent: null };
    const named = tests.find(({ agent }) => agent !== undefined);
    if (named) throw new UsageError(`The conversation at ${named.source} names an agent: give --space, not --source.`);
    return tests.map((test, index) => ({ index, test, external_space_id: null, findTarget: async () => target }));
  }
  const finder = new TargetFinder(http, toCommand);
  const pairs = audience.spaces.flatMap((space) => tests.map((test) => ({ space, test })));
  return pairs.map(({ space, test }, index) => {
    const agent = test.agent ?? audience.agent;
    if (agent)
      return { index, test, external_space_id: externalIdOf(space), findTarget: () => finder.find(space, agent) };
    throw new UsageError(`The conversation at ${test.source} names no agent.`, {
      hint: 'Name it in the file (agent: name:Support), or with --agent.',
    });
  });
}
