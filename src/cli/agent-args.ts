import { type AgentReference, parseAgentReference } from '../api/references.ts';
import { UsageError } from '../errors.ts';
import type { Args, FlagSpec } from './command.ts';

/** An agent as the command line names it: by id, or by name within a space. */
export interface AgentInput {
  readonly agent: AgentReference;
  /** As typed; always set if the agent is given by name. */
  readonly space: string | undefined;
}

/** What `--space` and the argument `<space>` take, for their help. */
export const SPACE_DESCRIPTION = 'a space_id, ext:<external_space_id>, or name:<name>';

/** Returns the flags that `parseAgentInput` reads. @param prefix precedes what --agent takes, in its help */
export function agentFlags(prefix = ''): readonly FlagSpec[] {
  return [
    { usage: '--agent <agent>', description: `${prefix}an agent_id, or name:<name> with --space` },
    { usage: '--space <space>', description: SPACE_DESCRIPTION },
  ];
}

/** Reads --agent and --space. @throws UsageError if one is empty, or if an agent given by name has no space */
export function parseAgentInput(args: Args): AgentInput {
  const agent = parseAgentReference(args.required('agent'));
  const space = args.value('space');
  if (agent.value.trim() === '') throw new UsageError('--agent is empty.');
  if (space?.trim() === '') throw new UsageError('--space is empty.');
  if (agent.by === 'id' || space !== undefined) return { agent, space };
  throw new UsageError('--agent name:<name> needs --space.', {
    hint: 'Add --space <space_id | ext:<id> | name:<name>>, or give the agent_id.',
  });
}

/** An agent as it is typed. */
export function typedAgent({ agent }: Pick<AgentInput, 'agent'>): string {
  return agent.by === 'name' ? `name:${agent.value}` : agent.value;
}
