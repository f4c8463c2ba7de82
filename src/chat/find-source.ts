import type { Http } from '../api/http.ts';
import {
  findAgentAnywhere,
  parseReference,
  type ResolvedAgent,
  resolveAgent,
  resolveSpaceId,
} from '../api/references.ts';
import { type AgentInput, typedAgent } from '../cli/agent-args.ts';
import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import { describeFix } from '../contract/assumptions.ts';
import { NotFoundError } from '../errors.ts';
import type { SourceInput } from './session-args.ts';
import { SourceMemory } from './source-memory.ts';

/** A source that a command line names. */
export interface FoundSource {
  readonly source_id: string;
  /** Whether the state file told it, so that a 404 is most likely about the source. */
  readonly isRemembered: boolean;
  /**
   * Call it when the service does not know the source (404). Looks a remembered source up, at most once.
   * @returns the source_id of the agent if it is another one
   * @throws NotFoundError if the agent has no source anymore
   */
  readonly renew: () => Promise<string | undefined>;
}

async function lookUpAgent(http: Http, { agent, space }: AgentInput): Promise<ResolvedAgent> {
  if (space === undefined) return await findAgentAnywhere(http, agent.value);
  return await resolveAgent(http, await resolveSpaceId(http, parseReference(space)), agent);
}

/** The error for an agent without a source: a source is only ever created on request. */
function noSourceError(input: AgentInput, { id, source_id }: ResolvedAgent, flags: GlobalFlags): NotFoundError {
  const { agent, space } = input;
  const typed = typedAgent(input);
  const subject = agent.by === 'name' ? `${JSON.stringify(agent.value)} (${id})` : id;
  const setup =
    space === undefined
      ? `partnerctl chat setup <space> ${typed}`
      : shellCommand(['chat', 'setup', space, typed], flags);
  const details = { agent_id: id };
  if (source_id === null) {
    return new NotFoundError(`Agent ${subject} has no API chat.`, { hint: `Set it up with: ${setup}`, details });
  }
  return new NotFoundError(`The service shows no API chat source for agent ${subject}.`, {
    hint: `Create it, or find it, with: ${setup}\nIf the list of agents shows it: ${describeFix({ leaf: 'agent.source_id', value: '<path>' })}`,
    details,
  });
}

/** The source of an agent, from what the state file remembers, or from what the service shows of the agent. */
async function findAgentSource(context: Context, http: Http, input: AgentInput): Promise<FoundSource> {
  const memory = new SourceMemory(context, http.baseUrl);
  const remembered = await memory.read(input);

  async function lookUp(): Promise<string> {
    context.progress.start('Looking up the agent');
    const agent = await lookUpAgent(http, input);
    context.progress.stop();
    const source_id = agent.source_id ?? null;
    const isNew = source_id === null ? remembered !== undefined : source_id !== remembered;
    if (isNew) await memory.write(input, { agent_id: agent.id, source_id });
    if (source_id === null) throw noSourceError(input, agent, context.flags);
    return source_id;
  }

  if (remembered === undefined) return knownSource(await lookUp());
  let renewing: Promise<string | undefined> | undefined;
  return {
    source_id: remembered,
    isRemembered: true,
    renew: () => {
      renewing ??= lookUp().then((found) => (found === remembered ? undefined : found));
      return renewing;
    },
  };
}

/** A source that is named by its id. */
export function knownSource(source_id: string): FoundSource {
  return { source_id, isRemembered: false, renew: async () => undefined };
}

/**
 * Finds the source that a command line names. Only reads: an agent without a source gets none.
 * @throws NotFoundError if the agent is not found, or has no source; UsageError if several agents have the name
 */
export async function findSource(context: Context, http: Http, input: SourceInput): Promise<FoundSource> {
  return 'source_id' in input ? knownSource(input.source_id) : await findAgentSource(context, http, input);
}
