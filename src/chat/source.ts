import type { Http } from '../api/http.ts';
import {
  type AgentReference,
  parseAgentReference,
  parseReference,
  resolveAgent,
  resolveSpaceId,
} from '../api/references.ts';
import { describeFix } from '../contract/unknown-shape.ts';
import { NotFoundError, UsageError } from '../errors.ts';

/** How the command line names a source: by its id, or by the agent whose source it is. */
export type SourceInput =
  | { readonly source_id: string }
  /** `space` as typed. */
  | { readonly agent: AgentReference; readonly space: string };

/** Formats a command line to paste into a shell. @param operands the last arguments; they may start with `-` */
export type FormatCommand = (words: readonly string[], operands?: readonly string[]) => string;

export type SourceOptions = { readonly [Option in 'source' | 'agent' | 'space']?: string | undefined };

/** Reads --source, or --agent with --space. @throws UsageError if neither or both are given */
export function parseSource({ source, agent: typed, space }: SourceOptions): SourceInput {
  if (source !== undefined && typed === undefined && space === undefined) return { source_id: source };
  if (source !== undefined || !typed || space === undefined) {
    throw new UsageError('Name the source with --source alone, or with --agent and --space.');
  }
  return { agent: parseAgentReference(typed), space };
}

/**
 * Finds the source that a command line names. Only reads: an agent without a source gets none.
 * @throws NotFoundError if the agent is not found, or has no source; UsageError if several agents have the name
 */
export async function findSource(http: Http, input: SourceInput, toCommand: FormatCommand): Promise<string> {
  if ('source_id' in input) return input.source_id;
  const { agent, space } = input;
  const spaceId = await resolveSpaceId(http, parseReference(space));
  return (await findAgentSource(http, { agent, space, spaceId }, toCommand)).source_id;
}

/**
 * Finds an agent of a space, and its source.
 * @param space as a command to paste names it
 * @throws as `findSource`
 */
export async function findAgentSource(
  http: Http,
  { agent, space, spaceId }: { readonly agent: AgentReference; readonly space: string; readonly spaceId: string },
  toCommand: FormatCommand,
): Promise<{ readonly agent_id: string; readonly name: string | undefined; readonly source_id: string }> {
  const { agent_id, name, source_id } = await resolveAgent(http, spaceId, agent);
  if (typeof source_id === 'string') return { agent_id, name, source_id };
  const typed = agent.by === 'name' ? `name:${agent.value}` : agent_id;
  const setUp = `Create it, or find it, with: ${toCommand(['chat', 'setup', space, typed])}`;
  const fix = `If the list of agents shows it: ${describeFix({ leaf: 'agent.source_id', value: '<path>' })}`;
  throw new NotFoundError(`The service shows no API chat source for agent ${agent_id}.`, {
    hint: source_id === null ? setUp : `${setUp}\n${fix}`,
    details: { agent_id },
  });
}
