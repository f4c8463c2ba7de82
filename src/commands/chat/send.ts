import { Option } from '@commander-js/extra-typings';
import { leaf, type Meta, run, SERVICE_EXITS } from '../../cli/leaf.ts';
import { confirmOption, duration, integer, SPACE_HELP } from '../../cli/options.ts';
import { SCOPE } from '../../contract/scopes.ts';
import {
  MAX_REPLIES,
  REPLIES_HELP,
  REQUIRED_SESSION,
  SESSION_HELP,
  SETTLE_HELP,
  SOURCE_AGENT_HELP,
  SOURCE_HELP,
} from './shared/session-options.ts';

const META: Meta = {
  description:
    'Sends a message to an agent. The service only acknowledges it; with --wait, the command waits for the reply and prints only its text. Without --external-id, a command that is killed before the acknowledgement and repeated may send the message twice.',
  inputs: [
    {
      takenBy: '--rows',
      format: 'JSON lines',
      example: '{"source_id": "<source_id>", "session_id": "anna", "text": "Hello!"}\n',
    },
  ],
  required: REQUIRED_SESSION.map((requirement) => ({ ...requirement, unless: ['--rows'] })),
  excessHint: "Quote the message: partnerctl chat send … 'hi there'",
  scopes: [SCOPE.chat],
  exits: [...SERVICE_EXITS, 'partial', 'noReply'],
  examples: [
    ["partnerctl chat send --source src_1 --session anna 'Hello!'", 'send without waiting'],
    [
      "partnerctl chat send --agent name:Support --space ext:acme-001 --session anna 'Hello!' --wait",
      'the source by agent and space; print the reply',
    ],
    [
      'partnerctl chat send --source src_1 --session anna --text-file mail.txt --external-id mail-17 -o json',
      'from a file, safe to repeat',
    ],
    ['partnerctl chat send --rows rows.ndjson --source src_1 -o ndjson', 'a message for each row'],
  ],
};

export const send = () =>
  leaf('send', 'Send a message to an agent, optionally waiting for the reply', META)
    .argument('[text]', 'the message, quoted as one argument; - reads standard input, and sends it unchanged')
    .option('--source <source_id>', SOURCE_HELP)
    .option('--agent <agent>', SOURCE_AGENT_HELP)
    .option('--space <space>', SPACE_HELP)
    .option('--session <session_id>', SESSION_HELP)
    .option('--text-file <path>', 'read the message from a file, and send it unchanged')
    .addOption(
      new Option(
        '--external-id <id>',
        'your id for the message: sending it again with the same id registers nothing new',
      ).default(undefined, 'random'),
    )
    .option('--wait', 'wait for the reply, for up to 2m or --timeout')
    .option('--replies <n>', REPLIES_HELP, integer(1, MAX_REPLIES))
    .option('--settle <duration>', SETTLE_HELP, duration)
    .option(
      '--rows <path>',
      'send one message for each row of a file, or of standard input (-): {"session_id", "text"}, a JSON object per line. Repeating the command sends only the remaining rows. After a failure, later rows of the session are not sent',
    )
    .addOption(
      new Option('--concurrency <n>', 'with --rows: how many sessions at a time, 1 to 32')
        .argParser(integer(1, 32))
        .default(undefined, '8'),
    )
    .option('--dry-run', 'with --rows: show what would be sent; nothing is sent')
    .addOption(confirmOption())
    .action(
      run(async (context, text, { rows, session, concurrency, dryRun, confirm, source, agent, space, ...message }) => {
        const { checkSendOptions } = await import('../../chat/send-options.ts');
        const { parseSource } = await import('../../chat/source.ts');
        checkSendOptions(text, message, { rows, concurrency, dryRun });
        const isNamed = rows === undefined || source !== undefined || agent !== undefined || space !== undefined;
        const from = isNamed ? parseSource({ source, agent, space }) : undefined;
        if (!dryRun) await context.confirmWrite(confirm);
        if (rows === undefined && from) {
          const { sendOne } = await import('./shared/send-one.ts');
          return await sendOne(context, { ...message, source: from, session_id: session ?? '', text });
        }
        const { sendRows } = await import('./shared/send-rows.ts');
        return await sendRows(context, { path: rows ?? '', source: from, session_id: session, concurrency, dryRun });
      }),
    );
