import type { Http } from '../api/http.ts';
import {
  type AgentReference,
  findAgentAnywhere,
  parseReference,
  type ResolvedAgent,
  resolveAgent,
  resolveSpaceId,
} from '../api/references.ts';
import { describeFix } from '../contract/unknown-shape.ts';
import { NotFoundError } from '../errors.ts';

/** An agent as the command line names it: by id, or by name within a space. */
export interface AgentInput {
  readonly agent: AgentReference;
  /** As typed; always set if the agent is given by name. */
  readonly space: string | undefined;
}

/** How the command line names a source: by its id, or by the agent whose source it is. */
export type SourceInput = { readonly source_id: string } | AgentInput;

/** Formats a command line to paste into a shell. @param operands the last arguments; they may start with `-` */
export type FormatCommand = (args: readonly string[], operands?: readonly string[]) => string;

async function lookUpAgent(http: Http, { agent, space }: AgentInput): Promise<ResolvedAgent> {
  if (space === undefined) return await findAgentAnywhere(http, agent.value);
  return await resolveAgent(http, await resolveSpaceId(http, parseReference(space)), agent);
}

/** The error for an agent without a source: a source is only ever created on request. */
function noSourceError({ agent, space }: AgentInput, { id, source_id }: ResolvedAgent, toCommand: FormatCommand) {
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
