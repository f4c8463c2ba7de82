import type { Http } from '../api/http.ts';
import {
  type AgentReference,
  findAgentAnywhere,
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
  /** `space` as typed; always set if the agent is given by name. */
  | { readonly agent: AgentReference; readonly space: string | undefined };

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
  if (agent.value === '') throw new UsageError('--agent names no agent.');
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

/**
 * Finds the source that a command line names. Only reads: an agent without a source gets none.
 * @throws NotFoundError if the agent is not found, or has no source; UsageError if several agents have the name
 */
export async function findSource(http: Http, input: SourceInput, toCommand: FormatCommand): Promise<string> {
  if ('source_id' in input) return input.source_id;
  const { agent, space } = input;
  const { agent_id: id, source_id } =
    space === undefined
      ? await findAgentAnywhere(http, agent.value)
      : await resolveAgent(http, await resolveSpaceId(http, parseReference(space)), agent);
  if (typeof source_id === 'string') return source_id;
  const isNamed = agent.by === 'name';
  const [typed, subject] = isNamed ? [`name:${agent.value}`, `${JSON.stringify(agent.value)} (${id})`] : [id, id];
  const setUp =
    space === undefined ? `partnerctl chat setup <space> ${typed}` : toCommand(['chat', 'setup', space, typed]);
  const details = { agent_id: id };
  if (source_id === null) {
    throw new NotFoundError(`Agent ${subject} has no API chat.`, { hint: `Set it up with: ${setUp}`, details });
  }
  throw new NotFoundError(`The service shows no API chat source for agent ${subject}.`, {
    hint: `Create it, or find it, with: ${setUp}\nIf the list of agents shows it: ${describeFix({ leaf: 'agent.source_id', value: '<path>' })}`,
    details,
  });
}
