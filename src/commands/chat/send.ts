import { randomUUID } from 'node:crypto';
import type { NewMessage, SentMessage } from '../../api/calls.ts';
import type { Places } from '../../chat/places.ts';
import { sendMessage } from '../../chat/send.ts';
import { findSource } from '../../chat/source.ts';
import { type Args, command, SERVICE_EXITS } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { readText, refuseTokenOnStdin, type TextSource, textFromArgument } from '../../cli/input.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { PartnerctlError, ShapeError, UsageError } from '../../errors.ts';
import { type Column, type CommandResult, objectResult } from '../../output/command-result.ts';
import { joinSentences } from '../../output/sentences.ts';
import { joinTexts, toMessageJson } from './shared/message-output.ts';
import { awaitReplies, parseReplyCriteria, REPLY_FLAGS, type TypedCriteria } from './shared/replies.ts';
import { resendCommand } from './shared/resend-command.ts';
import { ROW_COLUMNS, type RowsInput, sendRowsOf } from './shared/rows-output.ts';
import {
  commandFormatter,
  openPlaces,
  parseSession,
  parseSource,
  REQUIRED_SESSION,
  SESSION_FLAG,
  type SessionInput,
  SOURCE_FLAGS,
} from './shared/session-flags.ts';

interface MessageInput extends SessionInput {
  readonly external_message_id: string | undefined;
  readonly text: TextSource;
  /** Undefined to not wait for replies. */
  readonly criteria: TypedCriteria | undefined;
}

type Input = MessageInput | { readonly rows: RowsInput };

type Registered = Pick<SentMessage, 'message_id' | 'created'> & Pick<NewMessage, 'external_message_id'>;

const COLUMNS: readonly Column<Registered>[] = [
  { header: 'MESSAGE', value: ({ message_id }) => message_id },
  { header: 'EXTERNAL ID', value: ({ external_message_id }) => external_message_id },
  { header: 'CREATED', value: ({ created }) => (created === undefined ? '' : created ? 'yes' : 'no') },
];

const READ_REPLIES = 'Read the replies with: partnerctl chat tail --source <source_id> --session <session_id>';

/** The flags that only apply to a single message, each with the hint for rows. */
const NOT_WITH_ROWS = {
  'text-file': 'The file is the text of one message. Give each row a "text".',
  'external-id': 'The id is for one message. Give rows an "external_message_id".',
  wait: READ_REPLIES,
  replies: READ_REPLIES,
  settle: READ_REPLIES,
} as const;

function parseText(args: Args): TextSource {
  const [text] = args.positionals;
  const path = args.nonEmpty('text-file');
  if (text !== undefined && path !== undefined) {
    throw new UsageError('The message is given twice: as an argument and with --text-file.');
  }
  if (path !== undefined) return path === '-' ? { from: 'stdin' } : { from: 'file', path };
  if (text === '-') return { from: 'stdin' };
  if (text) return textFromArgument('The message', text, 'as - for standard input, or with --text-file <path>');
  throw new UsageError(text === undefined ? 'The message is missing.' : 'The message is empty.', {
    hint: 'Give it as one quoted argument, as - for standard input, or with --text-file <path>.',
  });
}

/** @returns undefined without --rows */
function parseRows(args: Args): RowsInput | undefined {
  const path = args.nonEmpty('rows');
  const dryRun = args.isSet('dry-run');
  if (path === undefined) {
    const other = args.value('concurrency') !== undefined ? 'concurrency' : dryRun && 'dry-run';
    if (other) throw new UsageError(`--${other} can only be used with --rows.`);
    return undefined;
  }
  if (args.positionals.length > 0) {
    throw new UsageError('--rows and a message cannot be combined.', { hint: 'Give each row its "text".' });
  }
  for (const [flag, hint] of Object.entries(NOT_WITH_ROWS)) {
    const isGiven = args.isSet(flag) || args.value(flag) !== undefined;
    if (isGiven) throw new UsageError(`--rows and --${flag} cannot be combined.`, { hint });
  }
  const isSourceNamed = ['source', 'agent', 'space'].some((flag) => args.value(flag) !== undefined);
  return {
    path,
    source: isSourceNamed ? parseSource(args) : undefined,
    session_id: args.nonEmpty('session'),
    concurrency: args.count('concurrency', { min: 1, max: 32, fallback: 8 }),
    dryRun,
  };
}

function parseMessage(args: Args): MessageInput {
  const criteria = parseReplyCriteria(args);
  return {
    ...parseSession(args),
    external_message_id: args.nonEmpty('external-id'),
    text: parseText(args),
    criteria: args.isSet('wait') || criteria.flags.length > 0 ? criteria : undefined,
  };
}

/** What the acknowledgement says besides the ids. */
function noteOf({ created, wasRetried, message_id }: SentMessage, externalId: string): string | undefined {
  if (created === false && wasRetried)
    return `note: a message with external id ${externalId} already existed when the last attempt reached the service (created: false). An earlier attempt of this command may have registered it.`;
  if (created === false)
    return `note: a message with external id ${externalId} already exists; nothing new was registered (created: false).`;
  if (message_id !== null) return undefined;
  return 'note: the message is registered, but its message_id is not known: the response is empty.';
}

/** Records the session, so that `chat watch` knows it. The message is sent: a failure is only a warning. */
async function remember({ warn }: Context, places: Places, message: NewMessage): Promise<void> {
  try {
    await places.remember(message);
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    await warn(joinSentences(`${error.message}\n\`chat watch\` does not show this session.`));
  }
}

async function sendOne(context: Context, input: MessageInput): Promise<CommandResult> {
  const { session_id, criteria, external_message_id = randomUUID() } = input;
  if (input.text.from === 'stdin') refuseTokenOnStdin(context.flags, 'message');
  const text = await readText(input.text, 'The message', () => context.io.stdin, context.abortSignal);
  const http = await context.http();
  const places = await openPlaces(context, http);
  const source_id = await findSource(http, input.source, commandFormatter(context));
  places.check({ source_id, session_id });
  const message = { source_id, session_id, external_message_id, text };
  context.progress.start('Sending the message');
  const moreFlags = criteria ? ['--wait', ...criteria.flags] : [];
  const sent = await sendMessage(http, message, resendCommand(context, message, { source: input.text, moreFlags }));
  const { message_id, created } = sent;
  const note = noteOf(sent, external_message_id);
  if (note !== undefined) await context.notice(note);
  await remember(context, places, message);
  const ids = { source_id, session_id, external_message_id, message_id };
  const { replies, failure } = await waitIfAsked();
  const replyJson = replies.map((reply) => toMessageJson(ids, reply));
  return {
    ...objectResult({ message_id, external_message_id, created }, COLUMNS),
    json: {
      ...ids,
      created: created ?? null,
      reply: replyJson[0] ?? null,
      ...(criteria && criteria.flags.length > 0 && { replies: replyJson }),
    },
    ...(criteria && { text: joinTexts(replies) }),
    ...(failure && { failure }),
  };

  async function waitIfAsked(): Promise<Awaited<ReturnType<typeof awaitReplies>>> {
    if (!criteria) return { replies: [], failure: undefined };
    if (message_id !== null) {
      const target = { source_id, session_id, after_message_id: message_id, isJustRegistered: true };
      return await awaitReplies(context, http, target, { criteria, details: ids });
    }
    const tail = ['chat', 'tail', '--source', source_id, '--session', session_id, '--from-start', '--no-follow'];
    const failure = new ShapeError('The replies cannot be told from earlier ones, as the message_id is not known.', {
      hint: `The message is registered. To read the history: ${commandFormatter(context)(tail)}`,
      details: ids,
    });
    return { replies: [], failure };
  }
}

export default command<Input>({
  description:
    'Sends a message to an agent. The service only acknowledges it; with --wait, the command waits for the reply and prints only its text. Without --external-id, a command that is killed before the acknowledgement and repeated may send the message twice.',
  args: [
    {
      usage: '[text]',
      description: 'the message, quoted as one argument; - reads standard input, and sends it unchanged',
      quoteHint: "Quote the message: partnerctl chat send … 'hi there'",
    },
  ],
  flags: [
    ...SOURCE_FLAGS,
    SESSION_FLAG,
    { usage: '--text-file <path>', description: 'read the message from a file, and send it unchanged' },
    {
      usage: '--external-id <id>',
      description: 'your id for the message: sending it again with the same id registers nothing new',
      defaultText: 'random',
    },
    { usage: '--wait', description: 'wait for the reply, for up to 2m or --timeout' },
    ...REPLY_FLAGS,
    {
      usage: '--rows <path>',
      description:
        'send one message for each row of a file, or of standard input (-): {"session_id", "text"}, a JSON object per line. Repeating the command sends only the remaining rows. After a failure, later rows of the session are not sent',
    },
    { usage: '--concurrency <n>', description: 'with --rows: how many sessions at a time, 1 to 32', default: '8' },
    { usage: '--dry-run', description: 'with --rows: show what would be sent; nothing is sent' },
  ],
  inputs: [
    {
      takenBy: '--rows',
      format: 'JSON lines',
      example: '{"source_id": "<source_id>", "session_id": "anna", "text": "Hello!"}\n',
    },
  ],
  required: REQUIRED_SESSION.map((flag) => ({ ...flag, unless: ['rows'] })),
  columns: [...ROW_COLUMNS, ...COLUMNS.filter(({ header }) => header === 'CREATED')],
  scopes: [SCOPE.chat],
  exits: [...SERVICE_EXITS, 'partial', 'noReply'],
  examples: [
    { line: "partnerctl chat send --source src_1 --session anna 'Hello!'", does: 'send without waiting' },
    {
      line: "partnerctl chat send --agent name:Support --space ext:acme-001 --session anna 'Hello!' --wait",
      does: 'the source by agent and space; print the reply',
    },
    {
      line: 'partnerctl chat send --source src_1 --session anna --text-file mail.txt --external-id mail-17 -o json',
      does: 'from a file, safe to repeat',
    },
    { line: 'partnerctl chat send --rows rows.ndjson --source src_1 -o ndjson', does: 'a message for each row' },
  ],
  parse(args) {
    const rows = parseRows(args);
    return rows ? { rows } : parseMessage(args);
  },
  writes: (input) => !('rows' in input && input.rows.dryRun),
  run: (context, input) => ('rows' in input ? sendRowsOf(context, input.rows) : sendOne(context, input)),
});
