import { defineCommand, fieldsOf, type Meta } from '../../../cli/command.ts';
import { AGENT_HELP, duration, integer, SPACE_HELP } from '../../../cli/options.ts';
import { OPERATIONS } from '../../../contract/operations.ts';
import type { toMessageJson } from './messages.ts';

export const SESSION_HELP = 'the conversation: an id of your choice';

export const REPLIES = ['--replies <n>', 'wait for n replies', integer(1, 1_000)] as const;

export const SETTLE = ['--settle <duration>', 'wait until it is quiet this long after a reply', duration] as const;

const SOURCE_HINT = [
  'Get a source_id with: partnerctl chat setup <space> <agent> --query source_id',
  'Or name the agent: --agent name:<name> --space <space>',
].join('\n');

/** What a stream prints of a message. */
export const MESSAGE_JSON = fieldsOf<ReturnType<typeof toMessageJson>>()(
  'message_id, session_id, source_id, role, text, created_at, raw',
);

/** Of its fields, those that are texts. */
export const MESSAGE_SAMPLE = Object.fromEntries(
  ['message_id', 'session_id', 'source_id', 'role', 'text', 'created_at'].map((field) => [field, '1']),
);

/** The options that name a source and a session. */
export const REQUIRED_SESSION = [{ oneOf: ['--source', '--agent'], hint: SOURCE_HINT }, { oneOf: ['--session'] }];

/** The scopes of a command that may find a source by the name of its agent. */
export const CHAT_SCOPES = [OPERATIONS.registerMessage.scope, OPERATIONS.listSpaces.scope, OPERATIONS.listAgents.scope];

/** Creates a command on sessions of a source, with the options that name the source. */
export function sessionLeaf(name: string, summary: string, meta: Meta) {
  return defineCommand(name, summary, { required: REQUIRED_SESSION, scopes: CHAT_SCOPES, ...meta })
    .option('--source <source_id>', "the agent's API chat source; get it with `chat setup`")
    .option('--agent <agent>', `in place of --source: ${AGENT_HELP}`)
    .option('--space <space>', SPACE_HELP);
}
