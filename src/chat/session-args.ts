import { type AgentInput, agentFlags, parseAgentInput, typedAgent } from '../cli/agent-args.ts';
import type { Args, FlagSpec, RequiredFlag } from '../cli/command.ts';
import { UsageError } from '../errors.ts';

/** How the command line names a source: by its id, or by the agent whose source it is. */
export type SourceInput = { readonly source_id: string } | AgentInput;

/** A session as typed. */
export interface SessionInput {
  readonly source: SourceInput;
  readonly session_id: string;
}

export const SOURCE_FLAGS: readonly FlagSpec[] = [
  { usage: '--source <source_id>', description: "the agent's API chat source; get it with `chat setup`" },
  ...agentFlags('in place of --source: '),
];

export const SESSION_FLAG: FlagSpec = {
  usage: '--session <session_id>',
  description: 'the conversation: an id of your choice',
};

const SOURCE_HINT = [
  'Get a source_id with: partnerctl chat setup <space> <agent> --query source_id',
  'Or name the agent: --agent name:<name> --space <space>',
].join('\n');

/** What names a source and a session, for the declaration of a command. */
export const REQUIRED_SESSION: readonly RequiredFlag[] = [
  { oneOf: ['source', 'agent'], hint: SOURCE_HINT },
  { oneOf: ['session'] },
];

/** Parses --source, or --agent with --space. @throws UsageError if neither or both are given */
export function parseSource(args: Args): SourceInput {
  const hasAgent = args.value('agent') !== undefined;
  // Where --source is repeatable, its values are a list.
  const source = args.value('source') ?? args.values('source')[0];
  if (source !== undefined && hasAgent) {
    throw new UsageError('--source and --agent cannot be combined.', {
      hint: 'Give the source_id, or the agent that it belongs to.',
    });
  }
  if (hasAgent) return parseAgentInput(args);
  if (args.value('space') !== undefined) throw new UsageError('--space can only be used with --agent.');
  return { source_id: source || args.required('source') };
}

/** Parses the source and --session. @throws UsageError if one is missing */
export function parseSession(args: Args): SessionInput {
  return { source: parseSource(args), session_id: args.required('session') };
}

/** Parses the same flags where each of them may be absent. @throws UsageError if one is empty, or if they do not fit */
export function parseSessionDefaults(args: Args): {
  readonly source: SourceInput | undefined;
  readonly session_id: string | undefined;
} {
  const isNamed = ['source', 'agent', 'space'].some((flag) => args.value(flag) !== undefined);
  return {
    source: isNamed ? parseSource(args) : undefined,
    session_id: args.value('session') === undefined ? undefined : args.required('session'),
  };
}

/** The flags that name a source, as `parseSource` reads them. */
export function sourceArgs(source: SourceInput): readonly string[] {
  if ('source_id' in source) return ['--source', source.source_id];
  return ['--agent', typedAgent(source), ...(source.space === undefined ? [] : ['--space', source.space])];
}
