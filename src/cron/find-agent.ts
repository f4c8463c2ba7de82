import { listAgents } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { parseReference, resolveAgentId, resolveSpaceId } from '../api/references.ts';
import { comparableAgent } from '../contract/values.ts';
import { UsageError } from '../errors.ts';
import type { CronContext } from './context.ts';
import { type AgentInput, type AgentOptions, parseJobAgent } from './job-flags.ts';

/** Resolves agent references, each only once. */
export class AgentFinder {
  private readonly http: Http;
  private readonly progress: CronContext['progress'];
  private readonly found = new Map<string, Promise<string>>();

  constructor(http: Http, progress: CronContext['progress']) {
    this.http = http;
    this.progress = progress;
  }

  /** The agent's id. @throws NotFoundError, UsageError as `resolveSpaceId` and `resolveAgentId` do */
  async find({ agent, space = '' }: AgentInput): Promise<string> {
    if (agent.by === 'id') return agent.value;
    this.progress.start('Looking up the agent');
    const { http } = this;
    const spaceId = await this.once(space, () => resolveSpaceId(http, parseReference(space)));
    return await this.once(JSON.stringify([spaceId, agent.value]), () => resolveAgentId(http, spaceId, agent));
  }

  private once(key: string, find: () => Promise<string>): Promise<string> {
    const found = this.found.get(key) ?? find();
    this.found.set(key, found);
    return found;
  }
}

/** The id of one agent. Calls the service only to look it up by name. @throws as `AgentFinder.find` */
export async function findAgent(
  { http, progress }: Pick<CronContext, 'http' | 'progress'>,
  input: AgentInput,
): Promise<string> {
  if (input.agent.by === 'id') return input.agent.value;
  return await new AgentFinder(await http(), progress).find(input);
}

/** The agents whose jobs are meant. */
export interface OwnerAgents {
  /** As `comparableAgent` gives them. */
  readonly ids: ReadonlySet<string>;
  /** Of the space that was asked for. Jobs may remain of agents that are no longer in it. */
  readonly external_space_id?: string;
}

async function findSpaceAgents(http: Http, space: string): Promise<OwnerAgents> {
  const ids = new Set<string>();
  const { by, value } = parseReference(space);
  const spaceId = await resolveSpaceId(http, { by, value });
  for await (const { agent_id } of listAgents(http, spaceId)) ids.add(comparableAgent(agent_id));
  return { ids, ...(by === 'external_space_id' && { external_space_id: value }) };
}

/**
 * The agents that --agent and --space name; undefined if neither is given.
 * @param connect opens the client; undefined to look nothing up
 * @throws UsageError for invalid values, and for what has to be looked up; NotFoundError as `resolveSpaceId` and `resolveAgentId` do
 */
export async function findOwnerAgents(
  options: AgentOptions,
  progress: CronContext['progress'],
  connect: (() => Promise<Http>) | undefined,
): Promise<OwnerAgents | undefined> {
  const input = options.agent === undefined ? undefined : parseJobAgent(options);
  const { space } = options;
  if (input?.agent.by === 'id') return { ids: new Set([comparableAgent(input.agent.value)]) };
  if (!input && space === undefined) return undefined;
  if (connect) {
    const http = await connect();
    if (input) return { ids: new Set([comparableAgent(await new AgentFinder(http, progress).find(input))]) };
    progress.start('Looking up the agents');
    return await findSpaceAgents(http, space ?? '');
  }
  const { by, value } = parseReference(space ?? '');
  if (!input && by === 'external_space_id') return { ids: new Set(), external_space_id: value };
  throw new UsageError('Names and the ids of spaces can only be looked up at the service, and not with --local.', {
    hint: 'Give --agent <agent_id>, or --space ext:<external_space_id>.',
  });
}
