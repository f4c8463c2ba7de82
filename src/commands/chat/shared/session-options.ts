/** What --source takes. */
export const SOURCE_HELP = "the agent's API chat source; get it with `chat setup`";

/** What --agent takes. */
export const SOURCE_AGENT_HELP = 'in place of --source: an agent_id, or name:<name> with --space';

/** What --session takes. */
export const SESSION_HELP = 'the conversation: an id of your choice';

export const REPLIES_HELP = 'wait for n replies';
export const MAX_REPLIES = 1_000;

export const SETTLE_HELP = 'wait until no message came for this long after a reply';

const SOURCE_HINT = [
  'Get a source_id with: partnerctl chat setup <space> <agent> --query source_id',
  'Or name the agent: --agent name:<name> --space <space>',
].join('\n');

/** The options that name a source and a session. */
export const REQUIRED_SESSION = [{ oneOf: ['--source', '--agent'], hint: SOURCE_HINT }, { oneOf: ['--session'] }];
