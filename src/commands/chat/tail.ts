import { FOLLOW_FLAGS, parseFollow } from '../../chat/follow-args.ts';
import {
  parseSessionSelection,
  REQUIRED_SESSION_SELECTION,
  SESSION_SELECTION_FLAGS,
  type SessionSelection,
} from '../../chat/session-selection.ts';
import type { TailInput } from '../../chat/tail.ts';
import { type Args, command, SERVICE_EXITS } from '../../cli/command.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { UsageError } from '../../errors.ts';

const DEFAULT_TAIL = 10;
const MAX_TAIL = 100_000;

function parseStart(args: Args, selection: SessionSelection): TailInput['start'] {
  const after = args.value('after');
  const starts = ['after', 'tail', 'from-start', 'resume'].filter(
    (flag) => args.value(flag) !== undefined || args.isSet(flag),
  );
  if (starts.length > 1) throw new UsageError(`--${starts.join(' and --')} cannot be combined.`);
  if (after === '') throw new UsageError('--after is empty.', { hint: 'Check the shell variable it comes from.' });
  if (after !== undefined && (selection.from === 'pairs' || selection.sessions.length > 1)) {
    throw new UsageError('--after names a message of one session, but several sessions are given.');
  }
  if (after !== undefined) return { from: 'after', message_id: after };
  if (args.isSet('from-start')) return { from: 'start' };
  if (args.isSet('resume')) return { from: 'checkpoint' };
  return { from: 'last', count: args.count('tail', { min: 0, max: MAX_TAIL, fallback: DEFAULT_TAIL }) };
}

export default command<TailInput>({
  description:
    'Shows the messages of one or more sessions as they arrive, each once and in order, until Ctrl-C. It continues after failures of the service and the network.',
  flags: [
    ...SESSION_SELECTION_FLAGS,
    {
      usage: '--after <message_id>',
      description: 'start after this message: a message_id that `chat send` or `chat tail` printed',
    },
    { usage: '--tail <n>', description: 'start with the last n messages', default: String(DEFAULT_TAIL) },
    { usage: '--from-start', description: 'start with the first message' },
    { usage: '--resume', description: 'start where the last tail of the session ended' },
    { usage: '--no-follow', description: 'exit once all existing messages are shown' },
    { usage: '--until-reply', description: 'exit after the first new reply; exit 11 if none comes within --timeout' },
    ...FOLLOW_FLAGS,
  ],
  required: REQUIRED_SESSION_SELECTION,
  output: async () => (await import('../../output-schemas/chat.ts')).CHAT_TAIL,
  scopes: [SCOPE.chat],
  exits: [...SERVICE_EXITS, 'noReply'],
  examples: [
    { line: 'partnerctl chat tail --source src_1 --session anna', does: 'the last ten messages, then new ones' },
    {
      line: 'partnerctl chat tail --source src_1 --session anna --session ben --resume -o json',
      does: 'two sessions, showing each message only once across runs',
    },
    {
      line: 'partnerctl chat tail --source src_1 --session anna --source src_2 --session anna --session ben',
      does: 'sessions of two sources',
    },
    {
      line: 'partnerctl chat tail --agent name:Support --space ext:acme-001 --session anna --from-start --no-follow',
      does: 'the whole session; the source by agent and space',
    },
  ],
  parse(args) {
    const selection = parseSessionSelection(args);
    const untilReply = args.isSet('until-reply');
    const following = parseFollow(args);
    const { follow, webhook } = following;
    if (webhook && !follow) throw new UsageError('--webhook and --no-follow cannot be combined.');
    if (untilReply && !follow) throw new UsageError('--until-reply and --no-follow cannot be combined.');
    return {
      selection,
      start: parseStart(args, selection),
      ...following,
      untilReply,
    };
  },
  async run(context, { selection, ...options }) {
    const [{ describeEmpty, tailSessions }, { findSessions }] = await Promise.all([
      import('../../chat/tail.ts'),
      import('../../chat/find-sessions.ts'),
    ]);
    const { http, ...selected } = await findSessions(context, selection);
    const tail = { ...options, ...selected };
    const empty = tail.follow ? undefined : describeEmpty(tail);
    return { kind: 'stream', events: tailSessions(context, http, tail), empty };
  },
});
