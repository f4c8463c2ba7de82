import { listAgents, listSpaces } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { type AgentInput, parseAgentInput, parseReference, resolveAgent, resolveSpaceId } from '../api/references.ts';
import { describeFix } from '../contract/unknown-shape.ts';
import { canonicalId } from '../contract/values.ts';
import { NotFoundError, UsageError } from '../errors.ts';

/** How the command line names a source: by its id, or by the agent whose source it is. */
export type SourceInput = { readonly source_id: string } | AgentInput;

/** Formats a command line to paste into a shell. @param operands the last arguments; they may start with `-` */
export type FormatCommand = (words: readonly string[], operands?: readonly string[]) => string;

export type SourceOptions = { readonly [Option in 'source' | 'agent' | 'space']?: string | undefined };

/** Reads --source, or --agent and --space. @throws UsageError if neither or both are given; as `parseAgentInput` */
export function parseSource({ source, agent: typed, space }: SourceOptions): SourceInput {
  if (source !== undefined && typed === undefined && space === undefined) return { source_id: source };
  if (source === undefined && typed !== undefined) return parseAgentInput(typed, space);
  throw new UsageError('Name the source with --source alone, or with --agent.');
}

/** An agent, and the id of its space where it is known. */
type AgentPlace = AgentInput & { readonly spaceId?: string };

/** Finds an agent and its space; an agent_id that stands alone, in all spaces. @throws as `findSource` */
async function findAgent(http: Http, { agent, space, spaceId }: AgentPlace) {
  if (space !== undefined) {
    const space_id = spaceId ?? (await resolveSpaceId(http, parseReference(space)));
    return { ...(await resolveAgent(http, space_id, agent)), space, space_id };
  }
  for await (const { space_id } of listSpaces(http, 'show')) {
    for await (const each of listAgents(http, space_id, 'show')) {
      if (canonicalId(each.agent_id) === canonicalId(agent.value)) return { ...each, space: space_id, space_id };
    }
  }
  throw new NotFoundError(`No space has an agent with the agent_id ${JSON.stringify(agent.value)}.`);
}

/** Finds an agent, and its source. @throws as `findSource` */
export async function findAgentSource(http: Http, input: AgentPlace, toCommand: FormatCommand) {
  const { agent_id, name, source_id, space, space_id } = await findAgent(http, input);
  if (typeof source_id === 'string') return { agent_id, name, source_id, space_id };
  const typed = input.agent.by === 'name' ? `name:${input.agent.value}` : agent_id;
  const setUp = `Create it, or find it, with: ${toCommand(['chat', 'setup', space, typed])}`;
  const fix = `If the list of agents shows it: ${describeFix({ leaf: 'agent.source_id', value: '<path>' })}`;
  throw new NotFoundError(`The service shows no API chat source for agent ${agent_id}.`, {
    hint: source_id === null ? setUp : `${setUp}\n${fix}`,
    details: { agent_id },
  });
}

/**
 * Finds the source that a command line names. Only reads: an agent without a source gets none.
 * @throws NotFoundError if the agent is not found, or has no source; UsageError if several agents have the name
 */
export async function findSource(http: Http, input: SourceInput, toCommand: FormatCommand): Promise<string> {
  return 'source_id' in input ? input.source_id : (await findAgentSource(http, input, toCommand)).source_id;
}
