import type { Http } from '../../api/http.ts';
import type { SessionRef } from '../../chat/session.ts';
import { findSource, type SourceInput } from '../../chat/source.ts';
import { type TailOptions, tail } from '../../chat/tail.ts';
import { explainUnrecognized, isUnrecognized } from '../../chat/unrecognized-author.ts';
import { type Args, command, SERVICE_EXITS } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import type { Message } from '../../contract/messages.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { UsageError } from '../../errors.ts';
import type { StreamEvent } from '../../output/command-result.ts';
import { joinSentences } from '../../output/sentences.ts';
import { toStreamEvent, writeNotice } from './shared/message-output.ts';
import {
  commandFormatter,
  followDeps,
  INTERVAL_FLAG,
  openPlaces,
  parseInterval,
  parseSource,
  REQUIRED_SESSION,
  SOURCE_FLAGS,
} from './shared/session-flags.ts';

interface Input {
  readonly source: SourceInput;
  readonly sessions: readonly string[];
  readonly options: TailOptions;
  readonly showTimestamp: boolean;
}

const DEFAULT_TAIL = 10;
const MAX_TAIL = 100_000;
/** Enough for a history whose authors are the names of people. */
const MAX_AUTHOR_WARNINGS = 3;

function parseStart(args: Args, sessions: readonly string[]): TailOptions['start'] {
  const after = args.nonEmpty('after');
  const starts = ['after', 'tail', 'from-start', 'resume'].filter(
    (flag) => args.value(flag) !== undefined || args.isSet(flag),
  );
  if (starts.length > 1) throw new UsageError(`--${starts.join(' and --')} cannot be combined.`);
  if (after !== undefined && sessions.length > 1) {
    throw new UsageError('--after names a message of one session, but several sessions are given.');
  }
  if (after !== undefined) return { from: 'after', message_id: after };
  if (args.isSet('from-start')) return { from: 'start' };
  if (args.isSet('resume')) return { from: 'place' };
  return { from: 'last', count: args.count('tail', { min: 0, max: MAX_TAIL, fallback: DEFAULT_TAIL }) };
}

/** Says that the sessions have no messages to start with; undefined if none are wanted. */
function describeEmpty(sessions: readonly string[], { start, once }: TailOptions): string | undefined {
  if (start.from === 'last' && start.count === 0) return undefined;
  const where = `${sessions.length === 1 ? 'session' : 'sessions'} ${sessions.join(', ')}`;
  const waiting = once ? '' : ' Waiting for new ones; Ctrl-C ends the tail.';
  if (start.from === 'after') return `No messages after ${start.message_id} in ${where} yet.${waiting}`;
  return `${start.from === 'place' ? `No new messages in ${where}.` : `No messages in ${where} yet.`}${waiting}`;
}

/** Creates the function that warns of authors that are not recognized, of each only once. */
function warnOfAuthors(context: Context, { contract }: Http): (message: Message) => Promise<void> {
  /** One message of each author. */
  const messages: Message[] = [];
  return async (message) => {
    const isKnown = !isUnrecognized(message) || messages.some(({ role }) => role === message.role);
    if (isKnown || messages.length >= MAX_AUTHOR_WARNINGS) return;
    messages.push(message);
    const doubt = explainUnrecognized(messages, contract, commandFormatter(context));
    if (doubt) await context.warn(`${doubt.why} ${doubt.hint.replaceAll('\n', ' ')}`);
  };
}

async function* toStreamEvents(
  context: Context,
  http: Http,
  sessions: readonly SessionRef[],
  { options, showTimestamp }: Pick<Input, 'options' | 'showTimestamp'>,
): AsyncGenerator<StreamEvent, void, void> {
  const places = await openPlaces(context, http);
  // If nothing else says how long an outage may be, --retries does.
  const isByRetries = options.once && options.maxOutageMs === undefined;
  const maxRetries = isByRetries ? context.flags.retries : undefined;
  const deps = {
    ...followDeps(context, http),
    places,
    onUnrecorded: ({ message }: Error) =>
      context.warn(joinSentences(`${message}\nThe next --resume may not find where this tail ended.`)),
  };
  const warnOfAuthor = warnOfAuthors(context, http);
  const withMessages = new Set<string>();
  let empty = 0;
  for await (const event of tail(deps, sessions, { ...options, maxRetries })) {
    const { session_id } = event.ref;
    if (event.kind === 'message') {
      withMessages.add(session_id);
      const label = sessions.length > 1 ? session_id : undefined;
      yield toStreamEvent(event.ref, event.message, { label, showTimestamp });
      await warnOfAuthor(event.message);
    } else if (event.kind === 'caught-up') {
      if (!withMessages.has(session_id)) empty += 1;
      const names = sessions.map((each) => each.session_id);
      const text = empty === sessions.length ? describeEmpty(names, options) : undefined;
      if (text !== undefined) await context.notice(text);
    } else await writeNotice(context, event);
  }
}

export default command<Input>({
  description:
    'Shows the messages of one or more sessions as they arrive, each once and in order, until Ctrl-C. It continues after failures of the service and the network.',
  flags: [
    ...SOURCE_FLAGS,
    { usage: '--session <session_id>', description: 'the conversation; repeatable', repeatable: true },
    {
      usage: '--after <message_id>',
      description: 'start after this message: a message_id that `chat send` or `chat tail` printed',
    },
    { usage: '--tail <n>', description: 'start with the last n messages', default: String(DEFAULT_TAIL) },
    { usage: '--from-start', description: 'start with the first message' },
    { usage: '--resume', description: 'start where the last tail of the session ended' },
    { usage: '--no-follow', description: 'exit once all existing messages are shown' },
    INTERVAL_FLAG,
    { usage: '--timestamps', description: 'show when each message was created' },
    {
      usage: '--max-outage <duration>',
      description:
        'exit 8 when the service is out of reach for this long (default with --no-follow: 30s, or --retries if given)',
    },
  ],
  required: REQUIRED_SESSION,
  scopes: [SCOPE.chat],
  exits: SERVICE_EXITS,
  examples: [
    { line: 'partnerctl chat tail --source src_1 --session anna', does: 'the last ten messages, then new ones' },
    {
      line: 'partnerctl chat tail --source src_1 --session anna --session ben --resume -o json',
      does: 'two sessions, showing each message only once across runs',
    },
    {
      line: 'partnerctl chat tail --agent name:Support --space ext:acme-001 --session anna --from-start --no-follow',
      does: 'the whole session; the source by agent and space',
    },
  ],
  parse(args) {
    const sessions = [...new Set(args.values('session'))];
    if (sessions.includes('')) throw new UsageError('--session is empty.');
    const start = parseStart(args, sessions);
    const once = !args.isSet('follow');
    const options = { start, once, intervalMs: parseInterval(args), maxOutageMs: args.duration('max-outage') };
    return { source: parseSource(args), sessions, options, showTimestamp: args.isSet('timestamps') };
  },
  async run(context, { source, sessions, ...input }) {
    const http = await context.http();
    const source_id = await findSource(http, source, commandFormatter(context));
    const refs = sessions.map((session_id) => ({ source_id, session_id }));
    return { kind: 'stream', events: toStreamEvents(context, http, refs, input) };
  },
});
