import { randomUUID } from 'node:crypto';
import { type SentMessage, sendMessage } from '../../api/chat.ts';
import type { Http } from '../../api/http.ts';
import { type RepeatableMessage, repeatCommand } from '../../chat/repeat.ts';
import { awaitReplies, REPLY_FLAGS, type RepliesWanted, repliesText, repliesWanted } from '../../chat/replies.ts';
import { messageJson } from '../../chat/shown.ts';
import { type Args, command } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { readText, refuseTokenOnStdin, type TextSource, textFromArgument } from '../../cli/input.ts';
import { shellCommand } from '../../cli/shell-command.ts';
import { PartnerctlError, UsageError, withHint } from '../../errors.ts';
import { type Column, type CommandResult, objectResult } from '../../output/command-result.ts';

interface Input {
  readonly source_id: string;
  readonly session_id: string;
  readonly external_message_id: string | undefined;
  readonly source: TextSource;
  /** Undefined where nothing is waited for. */
  readonly wanted: RepliesWanted | undefined;
  /** The flags as they were typed, but those that name the message. */
  readonly flags: readonly string[];
}

interface Registered extends RepeatableMessage {
  readonly message_id: string;
  readonly created: boolean | undefined;
}

const COLUMNS: readonly Column<Registered>[] = [
  { header: 'MESSAGE', value: ({ message_id }) => message_id, noTruncate: true },
  { header: 'EXTERNAL ID', value: ({ external_message_id }) => external_message_id, noTruncate: true },
  { header: 'CREATED', value: ({ created }) => (created === undefined ? '' : created ? 'yes' : 'no') },
];

function textSource(words: Args): TextSource {
  const [text] = words.positionals;
  const path = words.value('file');
  if (text !== undefined && path !== undefined) {
    throw new UsageError('The text is given twice: as an argument, and with --file.');
  }
  if (path !== undefined) return path === '-' ? { from: 'stdin' } : { from: 'file', path };
  if (text === '-') return { from: 'stdin' };
  if (text) return textFromArgument('The text', text, 'as - for standard input, or with --file <path>');
  throw new UsageError(text === undefined ? 'There is no text to send.' : 'The text is empty.', {
    hint: 'Give it as one quoted argument, as - for standard input, or with --file <path>.',
  });
}

function wantedIn(words: Args): RepliesWanted | undefined {
  const wanted = repliesWanted(words);
  return words.isSet('wait') || wanted.several ? wanted : undefined;
}

function typedFlags(words: Args): string[] {
  const valued = ['replies', 'settle'].flatMap((flag) => {
    const value = words.value(flag);
    return value === undefined ? [] : [`--${flag}`, value];
  });
  return words.isSet('wait') ? ['--wait', ...valued] : valued;
}

/** The whole command that sends the same message again, which the service then takes for the same. */
function repeatHint(input: Input, sending: RepeatableMessage, context: Context): string {
  const { source_id, session_id, external_message_id } = sending;
  const ids = ['--source', source_id, '--session', session_id, '--external-id', external_message_id];
  const words = ['chat', 'send', ...ids, ...input.flags];
  const says = 'To repeat it without doubling the message:';
  if (input.source.from === 'file') {
    return `${says} ${shellCommand([...words, '--file', input.source.path], context.flags)}`;
  }
  if (input.source.from === 'stdin') {
    return `${says} ${shellCommand(words, context.flags, ['-'])} (with the same text on standard input)`;
  }
  return `${says} ${repeatCommand(sending, context.flags, input.flags)}`;
}

async function register(http: Http, sending: RepeatableMessage, input: Input, context: Context): Promise<SentMessage> {
  try {
    return await sendMessage(http, sending);
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    const { source_id, session_id, external_message_id } = sending;
    const details = { source_id, session_id, external_message_id };
    throw withHint(error, { hint: repeatHint(input, sending, context), details });
  }
}

async function sayWhetherCreated(
  { created, wasRetried: repeated }: SentMessage,
  id: string,
  context: Context,
): Promise<void> {
  if (created !== false) return;
  await context.notice(
    repeated
      ? `note: the service had a message with the external id ${id} when the last of several attempts reached it (created: false). It may well be this one, from an earlier attempt.`
      : `note: there was a message with the external id ${id} already, so nothing new was registered (created: false).`,
  );
}

export default command<Input>({
  description:
    'Sends a message to an agent. The service acknowledges it at once; with --wait the reply is waited for, and its text alone is printed.',
  args: [{ usage: '[text]', description: 'the message, as one word for the shell; - reads standard input' }],
  flags: [
    { usage: '--source <source_id>', description: "the agent's API chat source" },
    { usage: '--session <session_id>', description: 'the conversation, under a name of your own' },
    { usage: '--file <path>', description: 'read the message from a file' },
    {
      usage: '--external-id <id>',
      description:
        'your own id of the message: a repeat with the same id registers nothing new (a fresh one by default)',
    },
    { usage: '--wait', description: 'wait for the reply, for 2m or as long as --timeout says' },
    ...REPLY_FLAGS,
  ],
  examples: [
    { line: "partnerctl chat send --source src_1 --session anna 'Hello!'", does: 'send and be done' },
    { line: "partnerctl chat send --source src_1 --session anna 'Hello!' --wait", does: 'print the reply' },
    {
      line: 'partnerctl chat send --source src_1 --session anna --file mail.txt --external-id mail-17 -o json',
      does: 'from a file, safe to repeat',
    },
  ],
  parse(words) {
    const external = words.value('external-id');
    if (external === '') throw new UsageError('--external-id is empty.', { hint: 'Is a shell variable in it unset?' });
    return {
      source_id: words.required('source'),
      session_id: words.required('session'),
      external_message_id: external,
      source: textSource(words),
      wanted: wantedIn(words),
      flags: typedFlags(words),
    };
  },
  async run(context, input): Promise<CommandResult> {
    const { source_id, session_id, source, wanted } = input;
    if (source.from === 'stdin') refuseTokenOnStdin(context.flags, 'message');
    const text = await readText(source, 'The message', context.io.stdin, context.abortSignal);
    const external_message_id = input.external_message_id ?? randomUUID();
    const sending: RepeatableMessage = { source_id, session_id, external_message_id, text };
    const http = await context.http();
    context.progress.start('Sending the message');
    const sent = await register(http, sending, input, context);
    await sayWhetherCreated(sent, external_message_id, context);
    const { message_id } = sent;
    const registered: Registered = { ...sending, message_id, created: sent.created };
    const { replies, failure } = wanted
      ? await awaitReplies(context, http, { source_id, session_id, after: message_id }, wanted, {
          registered: true,
          preface: 'The message is registered. ',
          details: { source_id, session_id, external_message_id, message_id },
        })
      : { replies: [], failure: undefined };
    const shown = replies.map((reply) => messageJson(input, reply));
    const { created = null } = registered;
    const json = {
      source_id,
      session_id,
      external_message_id,
      message_id,
      created,
      reply: shown[0] ?? null,
      ...(wanted?.several && { replies: shown }),
    };
    return {
      ...objectResult(registered, COLUMNS),
      json,
      ...(wanted && { text: repliesText(replies) }),
      ...(failure && { failure }),
    };
  },
});
