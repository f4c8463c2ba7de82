import type { Http } from '../api/http.ts';
import {
  type AgentReference,
  findAgentAnywhere,
  parseAgentReference,
  parseReference,
  resolveAgent,
  resolveSpaceId,
} from '../api/references.ts';
import type { ListedAgent } from '../contract/agents.ts';
import { describeFix } from '../contract/unknown-shape.ts';
import { NotFoundError, UsageError } from '../errors.ts';

/** An agent as the command line names it: by id, or by name within a space. */
export interface AgentInput {
  readonly agent: AgentReference;
  /** As typed; always set if the agent is given by name. */
  readonly space: string | undefined;
}

/** How the command line names a source: by its id, or by the agent whose source it is. */
export type SourceInput = { readonly source_id: string } | AgentInput;

/** Formats a command line to paste into a shell. @param operands the last arguments; they may start with `-` */
export type FormatCommand = (words: readonly string[], operands?: readonly string[]) => string;

/** The values of --source, --agent, and --space. */
export interface SourceOptions {
  readonly source?: string | undefined;
  readonly agent?: string | undefined;
  readonly space?: string | undefined;
}

/** Reads --source, or --agent with --space. @throws UsageError if neither or both are given */
export function parseSource({ source, agent: typed, space }: SourceOptions): SourceInput {
  if (typed === undefined) {
    if (space !== undefined) throw new UsageError('--space can only be used with --agent.');
    if (source === undefined) throw new UsageError('--source is missing.');
    return { source_id: source };
  }
  if (source !== undefined) {
    throw new UsageError('--source and --agent cannot be combined.', {
      hint: 'Give the source_id, or the agent that it belongs to.',
    });
  }
  const agent = parseAgentReference(typed);
  if (agent.value.trim() === '') throw new UsageError('--agent is empty.');
  if (space?.trim() === '') throw new UsageError('--space is empty.');
  if (agent.by === 'id' || space !== undefined) return { agent, space };
  throw new UsageError('--agent name:<name> needs --space.', {
    hint: 'Add --space <space_id | ext:<id> | name:<name>>, or give the agent_id.',
  });
}

/** The flags that name a source, to type them again. */
export function sourceFlags(options: SourceOptions): readonly string[] {
  return Object.entries({ '--source': options.source, '--agent': options.agent, '--space': options.space }).flatMap(
    ([flag, value]) => (value === undefined ? [] : [flag, value]),
  );
}

async function lookUpAgent(http: Http, { agent, space }: AgentInput): Promise<ListedAgent> {
  if (space === undefined) return await findAgentAnywhere(http, agent.value);
  return await resolveAgent(http, await resolveSpaceId(http, parseReference(space)), agent);
}

/** The error for an agent without a source: a source is only ever created on request. */
function noSourceError(
  { agent, space }: AgentInput,
  { agent_id: id, source_id }: ListedAgent,
  toCommand: FormatCommand,
) {
  const subject = agent.by === 'name' ? `${JSON.stringify(agent.value)} (${id})` : id;
  const typed = agent.by === 'name' ? `name:${agent.value}` : agent.value;
  const setup =
    space === undefined ? `partnerctl chat setup <space> ${typed}` : toCommand(['chat', 'setup', space, typed]);
  const details = { agent_id: id };
  if (source_id === null) {
    return new NotFoundError(`Agent ${subject} has no API chat.`, { hint: `Set it up with: ${setup}`, details });
  }
  return new NotFoundError(`The service shows no API chat source for agent ${subject}.`, {
    hint: `Create it, or find it, with: ${setup}\nIf the list of agents shows it: ${describeFix({ leaf: 'agent.source_id', value: '<path>' })}`,
    details,
  });
}

/**
 * Finds the source that a command line names. Only reads: an agent without a source gets none.
 * @throws NotFoundError if the agent is not found, or has no source; UsageError if several agents have the name
 */
export async function findSource(http: Http, input: SourceInput, toCommand: FormatCommand): Promise<string> {
  if ('source_id' in input) return input.source_id;
  const agent = await lookUpAgent(http, input);
  if (agent.source_id === null || agent.source_id === undefined) throw noSourceError(input, agent, toCommand);
  return agent.source_id;
}
