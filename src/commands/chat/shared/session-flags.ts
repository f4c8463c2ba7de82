import { dirname } from 'node:path';
import type { Http } from '../../../api/http.ts';
import type { FollowDeps } from '../../../chat/follow.ts';
import { Places } from '../../../chat/places.ts';
import type { FormatCommand, SourceInput } from '../../../chat/source.ts';
import { agentFlags, parseAgentInput, typedAgent } from '../../../cli/agent-args.ts';
import type { Args, FlagSpec, RequiredFlag } from '../../../cli/command.ts';
import type { Context } from '../../../cli/context.ts';
import { shellCommand } from '../../../cli/shell-command.ts';
import { UsageError } from '../../../errors.ts';

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
  if (args.value('source') !== undefined && hasAgent) {
    throw new UsageError('--source and --agent cannot be combined.', {
      hint: 'Give the source_id, or the agent that it belongs to.',
    });
  }
  if (hasAgent) return parseAgentInput(args);
  if (args.value('space') !== undefined) throw new UsageError('--space can only be used with --agent.');
  return { source_id: args.required('source') };
}

/** Parses the source and --session. @throws UsageError if one is missing */
export function parseSession(args: Args): SessionInput {
  return { source: parseSource(args), session_id: args.required('session') };
}

/** The flags that name a source, as `parseSource` reads them. */
export function sourceArgs(source: SourceInput): readonly string[] {
  if ('source_id' in source) return ['--source', source.source_id];
  return ['--agent', typedAgent(source), ...(source.space === undefined ? [] : ['--space', source.space])];
}

const MIN_INTERVAL_MS = 100;

export const INTERVAL_FLAG: FlagSpec = {
  usage: '--interval <duration>',
  description: 'poll each session at this fixed interval',
  defaultText: 'adaptive',
};

/** Parses --interval. @throws UsageError if it is too short */
export function parseInterval(args: Args): number | undefined {
  const intervalMs = args.duration('interval');
  if (intervalMs === undefined || intervalMs >= MIN_INTERVAL_MS) return intervalMs;
  throw new UsageError(`--interval must be ${MIN_INTERVAL_MS}ms or more.`);
}

/** Returns the function that formats a command with the global flags of this one. */
export function commandFormatter({ flags }: Pick<Context, 'flags'>): FormatCommand {
  return (args, operands) => shellCommand(args, flags, operands);
}

/** Returns what following needs. @param limitMs limits it beside --timeout */
export function followDeps(context: Context, http: Http, limitMs = Number.POSITIVE_INFINITY): FollowDeps {
  const { clock, random, signals, flags } = context;
  const endsAt = clock.now() + limitMs;
  const ofCommand = () => (flags.timeout === undefined ? Number.POSITIVE_INFINITY : http.remainingMs());
  const remainingMs = () => Math.min(endsAt - clock.now(), ofCommand());
  return { http, clock, random, signal: signals.interrupt, remainingMs };
}

/** Opens the sessions that this machine knows. @throws UsageError if the address of the state is invalid */
export async function openPlaces(context: Context, http: Http): Promise<Places> {
  return new Places(dirname(await context.statePath()), http.baseUrl, context.redact);
}
