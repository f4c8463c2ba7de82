import type { Args, FlagSpec } from '../cli/command.ts';

/** A session of a source. */
export interface SessionRef {
  readonly source_id: string;
  readonly session_id: string;
}

export const SOURCE_FLAG: FlagSpec = {
  usage: '--source <source_id>',
  description: "the agent's API chat source; get it with `chat setup`",
};

export const SESSION_FLAG: FlagSpec = {
  usage: '--session <session_id>',
  description: 'the conversation: an id of your choice',
};

/** Parses --source. @throws UsageError if it is missing */
export function parseSource(args: Args): string {
  return args.required('source', 'Get one with: partnerctl chat setup <space> <agent> --query source_id');
}

/** Parses --source and --session. @throws UsageError if one is missing */
export function parseSession(args: Args): SessionRef {
  return { source_id: parseSource(args), session_id: args.required('session') };
}
