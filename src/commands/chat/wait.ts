import { deferred } from '../../cli/command.ts';
import { REPLIES, REQUIRED_SESSION, SESSION_HELP, SETTLE, sessionLeaf } from './shared/session-options.ts';

const AFTER_HINT =
  'Get the message_id when you send: partnerctl chat send --source <source_id> --session <session_id> <text> --query message_id';

export const wait = () =>
  sessionLeaf('wait', 'Wait for the reply to a message', {
    description: 'Prints only the text of the reply, like `chat send --wait`. A reply that already exists counts.',
    required: [...REQUIRED_SESSION, { oneOf: ['--after'], hint: AFTER_HINT }],
    exits: ['noReply'],
    json: '{source_id, session_id, after_message_id, reply, replies?}',
    examples: [
      'partnerctl chat wait --source src_1 --session anna --after msg_7  # the first reply after a message, for up to 2m or --timeout',
      'partnerctl chat wait --source src_1 --session anna --after msg_7 --replies 1 --timeout 5m -o json  # with its id and time, for a script',
      'partnerctl chat wait --agent name:Support --space ext:acme-001 --session anna --after msg_7 --settle 5s -o json  # the source by agent and space; all replies until it is quiet for 5s',
    ],
  })
    .option('--session <session_id>', SESSION_HELP)
    .option('--after <message_id>', 'wait for replies after this message: a message_id that `chat send` printed')
    .option(...REPLIES)
    .option(...SETTLE)
    .action(
      deferred(
        async (context, { session: session_id = '', after: after_message_id = '', replies, settle, ...options }) => {
          const { findSource, parseSource } = await import('../../chat/source.ts');
          const { waitLimit } = await import('../../chat/wait.ts');
          const { showReplies } = await import('./shared/send-and-wait.ts');
          const limitMs = waitLimit({ settle }, context.flags);
          const source = parseSource(options);
          const http = await context.http();
          const source_id = await findSource(http, source, context.command);
          const ids = { source_id, session_id, after_message_id };
          const target = { ...ids, criteria: { replies, settle }, limitMs, ids };
          return await showReplies(context, http, target, ids);
        },
      ),
    );
