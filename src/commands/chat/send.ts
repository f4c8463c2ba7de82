import { deferred } from '../../cli/command.ts';
import { CONFIRM, integer } from '../../cli/options.ts';
import { UsageError } from '../../errors.ts';
import { REPLIES, REQUIRED_SESSION, SESSION_HELP, SETTLE, sessionLeaf } from './shared/session-options.ts';

export const send = () =>
  sessionLeaf('send', 'Send a message to an agent, optionally waiting for the reply', {
    description:
      'Sends a message to an agent. The service only acknowledges it; with --wait, the command waits for the reply and prints only its text. Without --external-id, a command that is killed before the acknowledgement and repeated may send the message twice.',
    required: [
      ...REQUIRED_SESSION.map((requirement) => ({ ...requirement, unless: ['--rows'] })),
      { oneOf: ['--rows'], when: ['--concurrency', '--dry-run'] },
    ],
    excessHint: "Quote the message: partnerctl chat send … 'hi there'",
    exits: ['partial', 'noReply'],
    json: '{source_id, session_id, external_message_id, message_id, created, reply, replies?}',
    examples: [
      "partnerctl chat send --source src_1 --session anna 'Hello!'  # send without waiting",
      "partnerctl chat send --agent name:Support --space ext:acme-001 --session anna 'Hello!' --wait  # the source by agent and space; print the reply",
      'partnerctl chat send --rows rows.ndjson --source src_1 -o ndjson  # a message for each row',
    ],
  })
    .argument('[text]', 'the message, quoted as one argument; - reads standard input, and sends it unchanged')
    .option('--session <session_id>', SESSION_HELP)
    .option('--text-file <path>', 'read the message from a file, and send it unchanged')
    .option('--external-id <id>', 'your id: the same id again registers nothing new (default: random)')
    .option('--wait', 'wait for the reply, for up to 2m or --timeout')
    .option(...REPLIES)
    .option(...SETTLE)
    .option(
      '--rows <path>',
      'send one message for each row of a file, or of standard input (-): {"session_id", "text"}, a JSON object per line. Repeating the command sends only the remaining rows. After a failure, later rows of the session are not sent',
    )
    .option('--concurrency <n>', 'with --rows: how many sessions at a time, 1 to 32 (default: 8)', integer(1, 32))
    .option('--dry-run', 'with --rows: show what would be sent; nothing is sent')
    .option(...CONFIRM)
    .action(
      deferred(
        async (context, text, { rows, session, concurrency, dryRun, confirm, source, agent, space, ...message }) => {
          const { parseSource } = await import('../../chat/source.ts');
          const { stateLocation } = await import('../../state/location.ts');
          if (rows === undefined) {
            const from = parseSource({ source, agent, space });
            // An invalid address of the state is refused before anything is requested.
            stateLocation(context);
            const { sendOne } = await import('./shared/send-and-wait.ts');
            return await sendOne(context, { ...message, source: from, session_id: session ?? '', text, confirm });
          }
          if (text !== undefined || Object.values(message).some((value) => value !== undefined)) {
            throw new UsageError('--rows cannot be combined with a message and its options.', {
              hint: 'Each row has its own "text", and may have an "external_message_id". Read the replies with `chat tail`.',
            });
          }
          const isNamed = source !== undefined || agent !== undefined || space !== undefined;
          const from = isNamed ? parseSource({ source, agent, space }) : undefined;
          stateLocation(context);
          const { sendRows } = await import('./shared/send-rows.ts');
          return await sendRows(context, rows, { source: from, session_id: session, concurrency, dryRun, confirm });
        },
      ),
    );
