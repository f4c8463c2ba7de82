import { deferred } from '../../cli/command.ts';
import { SESSION_HELP, sessionLeaf } from './shared/session-options.ts';

export const record = () =>
  sessionLeaf('record', 'Write a session as a test for `chat test`', {
    description:
      'Writes each message of the user as a turn, and each reply as a comment with an empty expectation. The test fails until somebody has written what matters in a reply.',
    examples: [
      'partnerctl chat record --source src_1 --session anna > tests/anna.yaml  # a test from a session',
      'partnerctl chat record --agent name:Support --space ext:acme-001 --session anna  # the source by agent and space',
      'partnerctl chat record --source src_1 --session anna --timeout 10s  # read for at most ten seconds',
    ],
  })
    .option('--session <session_id>', SESSION_HELP)
    .action(
      deferred(async (context, { session: session_id = '', ...typed }) => {
        const { findSource, parseSource } = await import('../../chat/source.ts');
        const { formatConversation, readTurns } = await import('../../chat/record.ts');
        const { writeNotice } = await import('./shared/messages.ts');
        const source = parseSource(typed);
        const http = await context.http();
        const source_id = await findSource(http, source, context.command);
        const turns = await readTurns(context, http, { source_id, session_id }, (event) => writeNotice(context, event));
        return { kind: 'text', text: formatConversation(turns) };
      }),
    );
