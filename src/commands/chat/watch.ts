import type { WatchSelection } from '../../chat/find-watched.ts';
import { FOLLOW_FLAGS, parseFollow } from '../../chat/follow-args.ts';
import { toMessageJson } from '../../chat/format-message.ts';
import { parseSource } from '../../chat/session-args.ts';
import { type Conversation, statusOf } from '../../chat/unanswered.ts';
import type { AlertInput, WatchOptions } from '../../chat/watch.ts';
import { SPACE_DESCRIPTION } from '../../cli/agent-args.ts';
import { type Args, command, SERVICE_EXITS } from '../../cli/command.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { NotFoundError, UsageError } from '../../errors.ts';
import { type Column, type ListResult, listResult } from '../../output/command-result.ts';

interface Input extends Omit<WatchOptions, 'sessions' | 'space_id'> {
  readonly selection: WatchSelection;
}

const TONES = { unanswered: 'warn', unread: 'bad', answered: 'good', empty: 'dim' } as const;

function unansweredSince({ unanswered }: Conversation): string | null {
  return unanswered ? new Date(unanswered.since).toISOString() : null;
}

/** When the conversation got its status. */
function statusSince(conversation: Conversation): string | null {
  return unansweredSince(conversation) ?? conversation.last?.created_at ?? null;
}

/** The text of the last message on one line. */
function previewOf({ last }: Conversation): string | undefined {
  return last?.text?.trim().replace(/\s+/g, ' ');
}

const COLUMNS: readonly Column<Conversation>[] = [
  { header: 'SESSION', value: ({ session_id }) => session_id },
  { header: 'SOURCE', value: ({ source_id }) => source_id, fit: 'middle', isOptional: true },
  { header: 'STATUS', value: statusOf, tone: (conversation) => TONES[statusOf(conversation)] },
  { header: 'SINCE', value: statusSince, isTime: true },
  { header: 'MESSAGE', value: previewOf, fit: 'end', isOptional: true },
];

function toJson(conversation: Conversation) {
  const { source_id, session_id, last, unanswered } = conversation;
  return {
    source_id,
    session_id,
    status: statusOf(conversation),
    unanswered_since: unansweredSince(conversation),
    unanswered_message_id: unanswered?.message_id ?? null,
    last_message_at: last?.created_at ?? null,
    last_message: last ? toMessageJson(conversation, last) : null,
  };
}

function toList(conversations: readonly Conversation[], more: Pick<ListResult, 'failure'> = {}): ListResult {
  const count = (status: string): number => conversations.filter((each) => statusOf(each) === status).length;
  const subject = conversations.length === 1 ? '1 conversation' : `${conversations.length} conversations`;
  return listResult(conversations, COLUMNS, {
    empty: 'This machine knows no such conversation.',
    json: toJson,
    summary: () => {
      if (conversations.length === 0) return '';
      const unread = count('unread');
      return `${subject}, ${count('unanswered')} unanswered${unread === 0 ? '' : `, ${unread} unread`}.`;
    },
    ...more,
  });
}

function parseWatchSelection(args: Args): WatchSelection {
  const sources = args.values('source');
  if (sources.includes('')) throw new UsageError('--source is empty.');
  const space = args.value('space');
  if (args.value('agent') !== undefined || sources.length > 0) {
    const agent = parseSource(args);
    return 'source_id' in agent ? { by: 'sources', source_ids: sources } : { by: 'agent', agent };
  }
  if (space?.trim() === '') throw new UsageError('--space is empty.');
  return space === undefined ? { by: 'all' } : { by: 'space', space };
}

/** @throws UsageError if the expression is not valid */
function parseRegExp(args: Args, flag: string, flags: string): RegExp | undefined {
  const text = args.value(flag);
  if (text === undefined) return undefined;
  if (text === '') throw new UsageError(`--${flag} is empty.`, { hint: 'Check the shell variable it comes from.' });
  try {
    return new RegExp(text, flags);
  } catch (error) {
    // V8 repeats the expression in front of the reason.
    const why = error instanceof Error ? error.message.replace(/^.*\/[a-z]*: /s, '') : String(error);
    throw new UsageError(`--${flag} takes a regular expression, not ${JSON.stringify(text)}: ${why}.`, {
      hint: 'Escape special characters with a backslash: \\( \\? \\$',
    });
  }
}

function parseAlert(args: Args): AlertInput | undefined {
  const afterMs = args.duration('alert-after');
  const alertCommand = args.value('alert-command');
  if (alertCommand !== undefined && afterMs === undefined) {
    throw new UsageError('--alert-command needs --alert-after <duration>.');
  }
  if (alertCommand?.trim() === '') {
    throw new UsageError('--alert-command is empty.', { hint: 'Check the shell variable it comes from.' });
  }
  return afterMs === undefined ? undefined : { afterMs, command: alertCommand };
}

const ONLY_WITH_FOLLOW = ['grep', 'highlight', 'alert-command', 'interval', 'webhook'];

function refuseFollowFlags(args: Args): void {
  const flag = ONLY_WITH_FOLLOW.find((each) => args.value(each) !== undefined);
  if (flag !== undefined) throw new UsageError(`--${flag} and --no-follow cannot be combined.`);
}

export default command<Input>({
  description:
    'Shows the status of every conversation of this machine, the longest unanswered first, and then new messages as they arrive. The conversations are those that this machine had sent messages to, or followed, when the watch started.',
  flags: [
    {
      usage: '--space <space>',
      description: `only conversations in a space: ${SPACE_DESCRIPTION}`,
    },
    {
      usage: '--agent <agent>',
      description: 'only conversations with an agent: an agent_id, or name:<name> with --space',
    },
    {
      usage: '--source <source_id>',
      description: 'only conversations of an API chat source; repeatable',
      repeatable: true,
    },
    { usage: '--grep <regex>', description: 'show only messages that match a regular expression' },
    { usage: '--highlight <regex>', description: 'highlight matches of a regular expression, if colors are on' },
    {
      usage: '--alert-after <duration>',
      description: 'exit 11 as soon as a conversation is unanswered for this long',
    },
    {
      usage: '--alert-command <command>',
      description:
        'instead of exiting, run this shell command once per unanswered conversation, which PARTNER_SPACE_ID, PARTNER_SOURCE_ID, and PARTNER_SESSION_ID name',
    },
    { usage: '--no-follow', description: 'exit once the conversations are shown' },
    ...FOLLOW_FLAGS,
  ],
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/chat.ts')).CHAT_WATCH,
  scopes: [SCOPE.chat],
  exits: [...SERVICE_EXITS, 'noReply'],
  examples: [
    {
      line: 'partnerctl chat watch --space ext:acme-001',
      does: 'the conversations in one space',
    },
    {
      line: 'partnerctl chat watch --alert-after 5m --alert-command \'notify-send "$PARTNER_SESSION_ID waits"\'',
      does: 'a notification for each conversation that is unanswered for five minutes',
    },
    {
      line: 'partnerctl chat watch --no-follow --alert-after 1h -o json',
      does: 'a check for CI: exit 11 if one is unanswered for an hour',
    },
  ],
  parse(args) {
    if (!args.isSet('follow')) refuseFollowFlags(args);
    return {
      selection: parseWatchSelection(args),
      ...parseFollow(args),
      grep: parseRegExp(args, 'grep', 'u'),
      highlight: parseRegExp(args, 'highlight', 'gu'),
      alert: parseAlert(args),
    };
  },
  async run(context, { selection, ...options }) {
    const [{ findWatched }, { Watch }] = await Promise.all([
      import('../../chat/find-watched.ts'),
      import('../../chat/watch.ts'),
    ]);
    const http = await context.http();
    context.progress.start('Reading the conversations');
    const watched = await findWatched(context, http, selection);
    if (watched.sessions.length === 0) {
      if (!options.follow) {
        if (options.alert)
          await context.warn('This machine knows no such conversation, so there is nothing to alert about.');
        return toList([]);
      }
      throw new NotFoundError('This machine knows no such conversation.', {
        why: 'It knows those that it has sent messages to, or followed.',
        hint: 'Follow one first: partnerctl chat tail --source <source_id> --session <session_id>',
      });
    }
    const watch = new Watch(context, http, { ...options, ...watched });
    const conversations = await watch.readConversations();
    context.progress.stop();
    if (!options.follow) return toList(conversations, { failure: () => watch.findOverdue() });
    if (context.signals.interrupt.aborted) return { kind: 'none' };
    return { kind: 'stream', header: toList(conversations), events: watch.follow() };
  },
});
