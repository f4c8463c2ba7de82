import type { SentMessage } from '../../api/chat.ts';
import type { Http } from '../../api/http.ts';
import { type FoundSource, findSource, knownSource } from '../../chat/find-source.ts';
import { joinTexts, toMessageJson } from '../../chat/format-message.ts';
import { SessionMemory } from '../../chat/known-sessions.ts';
import { type RecordedSend, recordSend } from '../../chat/recorded-send.ts';
import { ROW_COLUMNS } from '../../chat/row-result.ts';
import { isRefused, resendCommand, sendMessage } from '../../chat/send-message.ts';
import type { RowsInput } from '../../chat/send-rows.ts';
import {
  parseSession,
  parseSessionDefaults,
  REQUIRED_SESSION,
  SESSION_FLAG,
  type SessionInput,
  SOURCE_FLAGS,
} from '../../chat/session-args.ts';
import { parseReplyCriteria, REPLY_FLAGS, type ReplyCriteria, waitForReplies } from '../../chat/wait-for-replies.ts';
import { type Args, CODE_QUALITY_FLAG, command, SERVICE_EXITS } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { readText, refuseTokenOnStdin, type TextSource, textFromArgument } from '../../cli/input.ts';
import { shellCommand } from '../../cli/shell-command.ts';
import { describeFix } from '../../contract/assumptions.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { PartnerctlError, ShapeError, UsageError } from '../../errors.ts';
import { type Column, type CommandResult, objectResult } from '../../output/command-result.ts';
import type { SessionRef } from '../../state-old/session-ref.ts';

interface MessageInput extends SessionInput {
  readonly external_message_id: string | undefined;
  /** Whether to send a new message, even if an earlier one with this text was not acknowledged. */
  readonly isAnother: boolean;
  readonly text: TextSource;
  /** Undefined to not wait for replies. */
  readonly criteria: ReplyCriteria | undefined;
  /** --wait, --replies, and --settle as typed. */
  readonly waitFlags: readonly string[];
}

type Input = MessageInput | { readonly rows: RowsInput };

interface RegisteredMessage {
  readonly message_id: string | null;
  readonly external_message_id: string;
  readonly created: boolean | undefined;
}

const COLUMNS: readonly Column<RegisteredMessage>[] = [
  { header: 'MESSAGE', value: ({ message_id }) => message_id, fit: 'middle' },
  { header: 'EXTERNAL ID', value: ({ external_message_id }) => external_message_id, fit: 'middle' },
  { header: 'CREATED', value: ({ created }) => (created === undefined ? '' : created ? 'yes' : 'no') },
];

function parseText(args: Args): TextSource {
  const [text] = args.positionals;
  const path = args.nonEmpty('file');
  if (text !== undefined && path !== undefined) {
    throw new UsageError('The message is given twice: as an argument and with --file.');
  }
  if (path !== undefined) return path === '-' ? { from: 'stdin' } : { from: 'file', path };
  if (text === '-') return { from: 'stdin' };
  if (text) return textFromArgument('The message', text, 'as - for standard input, or with --file <path>');
  throw new UsageError(text === undefined ? 'The message is missing.' : 'The message is empty.', {
    hint: 'Give it as one quoted argument, as - for standard input, or with --file <path>.',
  });
}

const READ_REPLIES = 'Read the replies with: partnerctl chat tail --source <source_id> --session <session_id>';

/** The flags that only apply to a single message, each with the hint for rows. */
const NOT_WITH_ROWS = {
  file: 'The file is the text of one message. Give each row a "text".',
  'external-id': 'The id is for one message. Give rows an "external_message_id".',
  again: 'To send the text of a row again, add the row again.',
  wait: READ_REPLIES,
  replies: READ_REPLIES,
  settle: READ_REPLIES,
} as const;

/** @returns undefined without --rows */
function parseRows(args: Args): RowsInput | undefined {
  const path = args.value('rows');
  const dryRun = args.isSet('dry-run');
  if (path === undefined) {
    const given = ['concurrency', 'code-quality'].find((flag) => args.value(flag) !== undefined);
    const other = given ?? (dryRun && 'dry-run');
    if (other) throw new UsageError(`--${other} can only be used with --rows.`);
    return undefined;
  }
  if (path === '') throw new UsageError('--rows is empty.', { hint: 'Check the shell variable it comes from.' });
  if (args.positionals.length > 0) {
    throw new UsageError('--rows and a message cannot be combined.', { hint: 'Give each row its "text".' });
  }
  for (const [flag, hint] of Object.entries(NOT_WITH_ROWS)) {
    const isGiven = args.isSet(flag) || args.value(flag) !== undefined;
    if (isGiven) throw new UsageError(`--rows and --${flag} cannot be combined.`, { hint });
  }
  const concurrency = args.count('concurrency', { min: 1, max: 32, fallback: 8 });
  return { path, ...parseSessionDefaults(args), concurrency, dryRun };
}

function parseMessage(args: Args): MessageInput {
  const external_message_id = args.value('external-id');
  if (external_message_id === '') {
    throw new UsageError('--external-id is empty.', { hint: 'Check the shell variable it comes from.' });
  }
  const isAnother = args.isSet('again');
  if (isAnother && external_message_id !== undefined) {
    throw new UsageError('--again and --external-id cannot be combined.', {
      hint: 'To send another message, use another id.',
    });
  }
  const criteria = parseReplyCriteria(args);
  return {
    ...parseSession(args),
    external_message_id,
    isAnother,
    text: parseText(args),
    criteria: args.isSet('wait') || criteria.isExplicit ? criteria : undefined,
    waitFlags: typedWaitFlags(args),
  };
}

function typedWaitFlags(args: Args): string[] {
  const withValue = ['replies', 'settle'].flatMap((flag) => {
    const value = args.value(flag);
    return value === undefined ? [] : [`--${flag}`, value];
  });
  return args.isSet('wait') ? ['--wait', ...withValue] : withValue;
}

const NO_WAIT = { replies: [], failure: undefined };

interface Registered extends SentMessage {
  readonly source_id: string;
  readonly send: RecordedSend;
}

/** Records and sends the message. @throws PartnerctlError as `sendMessage` */
async function sendTo(
  context: Context,
  http: Http,
  { source_id, text }: Pick<FoundSource, 'source_id'> & { readonly text: string },
  input: MessageInput,
): Promise<Registered> {
  const message = { source_id, session_id: input.session_id, text };
  const { external_message_id, isAnother } = input;
  const send = await recordSend(context, http, { ...message, external_message_id, isAnother });
  const named = { ...message, external_message_id: send.external_message_id };
  const resend = resendCommand(named, context.flags, { source: input.text, moreFlags: input.waitFlags });
  return { ...(await sendMessage(context, http, { ...message, send }, resend)), source_id, send };
}

/** Sends the message. If the agent's remembered source no longer exists (404), looks it up and sends again, once. */
async function send(context: Context, http: Http, text: string, input: MessageInput): Promise<Registered> {
  const source = await findSource(context, http, input.source);
  const { source_id: found, isRemembered } = source;
  context.progress.start('Sending the message');
  try {
    return await sendTo(context, http, { source_id: found, text }, input);
  } catch (error) {
    const isGone = error instanceof PartnerctlError && error.info.status === 404 && isRefused(error);
    if (!isGone || !isRemembered) throw error;
    const source_id = (await source.renew()) ?? found;
    return await sendTo(context, http, { source_id, text }, input);
  }
}

/** Waits for the replies to a message that was just registered. Without its id, returns a failure. */
async function wait(
  context: Context,
  http: Http,
  ids: SessionRef & { readonly message_id: string | null; readonly external_message_id: string },
  criteria: ReplyCriteria,
): ReturnType<typeof waitForReplies> {
  const { source_id, session_id, message_id } = ids;
  if (message_id !== null) {
    const source = knownSource(source_id);
    const target = { source, session_id, after: message_id, isJustRegistered: true, details: { ...ids } };
    return await waitForReplies(context, http, target, criteria);
  }
  const tail = ['chat', 'tail', '--source', source_id, '--session', session_id, '--from-start', '--no-follow'];
  const failure = new ShapeError(
    'The message is registered, but its message_id is not known, so its replies cannot be told from earlier ones.',
    {
      why: 'The response to the message is empty, and the history does not show its external id.',
      hint: `${describeFix({ leaf: 'message.external_message_id', value: '<path>' })}\nTo read the history: ${shellCommand(tail, context.flags)}`,
      details: { ...ids },
    },
  );
  return { source_id, replies: [], failure };
}

async function sendOne(context: Context, input: MessageInput): Promise<CommandResult> {
  const { session_id, criteria } = input;
  if (input.text.from === 'stdin') refuseTokenOnStdin(context.flags, 'message');
  const text = await readText(input.text, 'The message', () => context.io.stdin, context.abortSignal);
  const http = await context.http();
  const { message_id, created, source_id, send: recorded } = await send(context, http, text, input);
  // The record of a send without --external-id already contains the session.
  if (input.external_message_id !== undefined) {
    const sessions = new SessionMemory(context, http.baseUrl);
    await sessions.add({ source_id, session_id });
    await sessions.save();
  }
  const { external_message_id } = recorded;
  const ids = { source_id, session_id, external_message_id, message_id };
  const { replies, failure } = criteria ? await wait(context, http, ids, criteria) : NO_WAIT;
  const replyJson = replies.map((reply) => toMessageJson(ids, reply));
  return {
    ...objectResult({ message_id, external_message_id, created }, COLUMNS),
    json: {
      ...ids,
      created: created ?? null,
      reply: replyJson[0] ?? null,
      ...(criteria?.isExplicit && { replies: replyJson }),
    },
    ...(criteria && { text: joinTexts(replies) }),
    // Only now has somebody seen that the message is registered.
    onWritten: () => recorded.acknowledge(message_id),
    ...(failure && { failure }),
  };
}

export default command<Input>({
  description:
    'Sends a message to an agent. The service only acknowledges it; with --wait, the command waits for the reply and prints only its text.',
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
    { usage: '--file <path>', description: 'read the message from a file, and send it unchanged' },
    {
      usage: '--external-id <id>',
      description: 'your id for the message: sending it again with the same id registers nothing new',
      defaultText: 'random',
    },
    {
      usage: '--again',
      description: 'send another message, even if an earlier one with this text was never acknowledged',
    },
    { usage: '--wait', description: 'wait for the reply, for up to 2m or --timeout' },
    ...REPLY_FLAGS,
    {
      usage: '-f, --rows <path>',
      description:
        'send one message for each row of a file, or of standard input (-): {"session_id", "text"}, a JSON object per line. Repeating the command sends only the remaining rows. After a failure, later rows of the session are not sent',
    },
    { usage: '--concurrency <n>', description: 'with --rows: how many sessions at a time, 1 to 32', default: '8' },
    { usage: '--dry-run', description: 'with --rows: show what would be sent; nothing is sent' },
    CODE_QUALITY_FLAG,
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
  output: async () => (await import('../../output-schemas/chat.ts')).CHAT_SEND,
  scopes: [SCOPE.chat],
  exits: [...SERVICE_EXITS, 'partial', 'noReply'],
  examples: [
    { line: "partnerctl chat send --source src_1 --session anna 'Hello!'", does: 'send without waiting' },
    {
      line: "partnerctl chat send --agent name:Support --space ext:acme-001 --session anna 'Hello!' --wait",
      does: 'the source by agent and space; print the reply',
    },
    {
      line: 'partnerctl chat send --source src_1 --session anna --file mail.txt --external-id mail-17 -o json',
      does: 'from a file, safe to repeat',
    },
    { line: 'partnerctl chat send -f rows.ndjson --source src_1 -o ndjson', does: 'a message for each row' },
  ],
  parse(args) {
    const rows = parseRows(args);
    return rows ? { rows } : parseMessage(args);
  },
  writes: (input) => !('rows' in input && input.rows.dryRun),
  async run(context, input): Promise<CommandResult> {
    if ('rows' in input) {
      const { sendRows } = await import('../../chat/send-rows.ts');
      return await sendRows(context, input.rows);
    }
    return await sendOne(context, input);
  },
});
