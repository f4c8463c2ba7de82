import type { Http } from '../../api/http.ts';
import { follow } from '../../chat/follow.ts';
import { sayNotice } from '../../chat/notice.ts';
import { waitOnLine } from '../../chat/repeat.ts';
import type { FollowStart } from '../../chat/session.ts';
import { messageJson, readableText } from '../../chat/shown.ts';
import type { FollowEvent } from '../../chat/terms.ts';
import { type Args, command } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import type { Message } from '../../contract/messages.ts';
import {
  EXIT,
  InterruptedError,
  LocalError,
  NoReplyError,
  ServiceError,
  toErrorObject,
  UsageError,
  withHint,
} from '../../errors.ts';
import type { StreamEvent, TonedText } from '../../output/command-result.ts';
import { stringifyJson } from '../../output/formats/stringify-json.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { randomRecordId } from '../../state/record.ts';
import { lookUpTails, openTailMemory, type TailMemory, type TailPlace } from '../../state/tail.ts';

interface Input {
  readonly source_id: string;
  readonly sessions: readonly string[];
  readonly start: FollowStart | { readonly from: 'memory' };
  readonly follow: boolean;
  readonly untilReply: boolean;
  readonly timestamps: boolean;
  readonly intervalMs: number | undefined;
  readonly maxOutageMs: number | undefined;
}

type Memory = ReadonlyMap<string, TailPlace>;

const DEFAULT_TAIL = 10;
const MOST_TAIL = 100_000;
const SHORTEST_INTERVAL_MS = 100;

function startOf(words: Args, sessions: readonly string[]): Input['start'] {
  const after = words.value('after');
  const chosen = ['after', 'tail', 'from-start', 'resume'].filter(
    (flag) => words.value(flag) !== undefined || words.isSet(flag),
  );
  if (chosen.length > 1) throw new UsageError(`--${chosen.join(' and --')} exclude each other.`);
  if (after === '') throw new UsageError('--after is empty.', { hint: 'Is a shell variable in it unset?' });
  if (after !== undefined && sessions.length > 1) {
    throw new UsageError('--after names a message of one session, and there are several.');
  }
  if (after !== undefined) return { from: 'after', message_id: after };
  if (words.isSet('from-start')) return { from: 'start' };
  if (words.isSet('resume')) return { from: 'memory' };
  return { from: 'last', count: words.count('tail', { min: 0, max: MOST_TAIL, fallback: DEFAULT_TAIL }) };
}

function sessionsOf(words: Args): string[] {
  const sessions = [...new Set(words.values('session'))];
  if (sessions.length === 0) throw new UsageError('--session is missing.');
  if (sessions.includes('')) throw new UsageError('--session is empty.');
  return sessions;
}

function intervalOf(words: Args): number | undefined {
  const ms = words.duration('interval');
  if (ms === undefined || ms >= SHORTEST_INTERVAL_MS) return ms;
  throw new UsageError(`--interval is ${SHORTEST_INTERVAL_MS}ms or more.`);
}

/** Further lines of a message are set in, so that none of them passes for a message of its own. */
function linesFor(message: Message, sessionId: string, { sessions, timestamps }: Input): TonedText {
  const moment = timestamps ? `${sanitizeLine(message.created_at ?? '-')} ` : '';
  const session = sessions.length > 1 ? `[${sanitizeLine(sessionId)}] ` : '';
  const text = readableText(message).replace(/\n+$/, '').replaceAll('\n', '\n  ');
  const tone = message.isReply ? 'good' : message.role === 'user' ? 'dim' : undefined;
  return [
    { text: `${moment}${session}`, tone: 'dim' },
    { text: sanitizeLine(message.role), tone },
    { text: `: ${text}\n` },
  ];
}

function eventOf(message: Message, sessionId: string, input: Input): StreamEvent {
  const json = messageJson({ source_id: input.source_id, session_id: sessionId }, message);
  const { created_at, message_id, role, text } = message;
  return {
    json,
    cells: [created_at, sessionId, message_id, role, text ?? stringifyJson(message.raw)],
    text: linesFor(message, sessionId, input),
  };
}

async function remembered(context: Context, path: string, http: Http, input: Input): Promise<Memory> {
  if (input.start.from !== 'memory') return new Map();
  const places = await lookUpTails(path, { origin: http.baseUrl, source_id: input.source_id }, input.sessions);
  const unknown = input.sessions.filter((session) => !places.has(session));
  if (unknown.length > 0) {
    const names = unknown.join(', ');
    await context.notice(`note: no earlier tail of ${names} is remembered; it begins at the beginning.`);
  }
  return places;
}

function startIn(session: string, { start }: Input, places: Memory): FollowStart {
  if (start.from !== 'memory') return start;
  const place = places.get(session);
  return place ? { from: 'after', ...place } : { from: 'start' };
}

function openMemory(context: Context, path: string, http: Http, input: Input, places: Memory): TailMemory {
  const onTrouble = (error: unknown): void => {
    const why = error instanceof Error ? error.message : String(error);
    void context.warn(`${why} --resume may not find where this tail is.`);
  };
  const parts = { path, clock: context.clock, newId: randomRecordId, onTrouble };
  return openTailMemory(parts, { origin: http.baseUrl, source_id: input.source_id }, places);
}

/** @throws what the command fails with when it ended so; a Ctrl-C is the usual end, and no failure */
function checkEnd(
  { why, error, wasRead }: Extract<FollowEvent, { kind: 'end' }>,
  input: Input,
  last: ReadonlyMap<string, string>,
  context: Context,
): void {
  const { reason } = context.signals.interrupt;
  if (why === 'interrupted' && reason instanceof InterruptedError && reason.exitCode !== EXIT.interrupted) throw reason;
  if (why !== 'timeout') return;
  if (input.untilReply) {
    const [session = ''] = input.sessions;
    const after = last.get(session);
    const line = after !== undefined && waitOnLine(input.source_id, session, after, context.flags);
    throw new NoReplyError('No reply came in time.', {
      hint: line && input.sessions.length === 1 ? `To wait on: ${line}` : 'Allow more time with --timeout.',
      why: error?.message,
      details: {
        source_id: input.source_id,
        sessions: input.sessions,
        ...(error && { last_error: toErrorObject(error) }),
      },
      cause: error,
    });
  }
  if (error && !(input.follow && wasRead)) {
    throw withHint(error, { hint: 'The time was up; allow more with --timeout.', details: {} });
  }
  if (!input.follow && !wasRead) {
    throw new ServiceError('The service gave no answer in time.', { hint: 'Allow more time with --timeout.' });
  }
  if (!input.follow) {
    throw new LocalError('The time was up before everything was read.', { hint: 'Allow more time with --timeout.' });
  }
}

async function* events(context: Context, http: Http, input: Input): AsyncGenerator<StreamEvent, void, void> {
  const path = await context.statePath();
  const places = await remembered(context, path, http, input);
  const { clock, random, signals } = context;
  const sessions = input.sessions.map((session_id) => ({ session_id, start: startIn(session_id, input, places) }));
  const follower = follow(
    { http, clock, random, interrupt: signals.interrupt },
    {
      source_id: input.source_id,
      sessions,
      follow: input.follow,
      intervalMs: input.intervalMs,
      maxOutageMs: input.maxOutageMs,
      until: input.untilReply ? { replies: 1 } : undefined,
    },
  );
  const last = new Map(
    sessions.flatMap(({ session_id, start }) =>
      start.from === 'after' ? [[session_id, start.message_id] as const] : [],
    ),
  );
  const written = new Set<string>();
  const memory = openMemory(context, path, http, input, places);
  try {
    for await (const event of follower.events) {
      if (event.kind === 'message') {
        const { session_id, message } = event;
        yield eventOf(message, session_id, input);
        last.set(session_id, message.message_id);
        written.add(session_id);
        await memory.written(session_id, message.message_id);
      } else if (event.kind === 'read') {
        const { session_id, latest } = event;
        const newest = latest.at(-1);
        // Where nothing was to be shown, the next tail is to begin behind what was there all the same.
        if (newest === undefined || written.has(session_id) || newest === places.get(session_id)?.message_id) continue;
        last.set(session_id, newest);
        for (const id of latest) await memory.written(session_id, id);
      } else if (event.kind === 'end') {
        checkEnd(event, input, last, context);
      } else {
        await sayNotice(context, event);
      }
    }
  } finally {
    await memory.close();
  }
}

export default command<Input>({
  description:
    'Shows the messages of one session or several as they come, each once and in order, until Ctrl-C. It outlives failures of the service and of the network.',
  flags: [
    { usage: '--source <source_id>', description: "the agent's API chat source" },
    { usage: '--session <session_id>', description: 'the conversation; may be repeated', repeatable: true },
    { usage: '--after <message_id>', description: 'begin after this message' },
    { usage: '--tail <n>', description: 'begin with the last n messages', default: String(DEFAULT_TAIL) },
    { usage: '--from-start', description: 'begin with the first message' },
    { usage: '--resume', description: 'begin where the last tail of the session left off' },
    { usage: '--no-follow', description: 'end when everything that is there has been shown' },
    { usage: '--until-reply', description: 'end after the first new reply; exit 11 when none came within --timeout' },
    { usage: '--interval <duration>', description: 'ask at this pace, not at one that fits the conversation' },
    { usage: '--timestamps', description: 'show when each message came' },
    { usage: '--max-outage <duration>', description: 'give up (exit 8) when the service is out of reach for so long' },
  ],
  examples: [
    { line: 'partnerctl chat tail --source src_1 --session anna', does: 'the last ten messages, and what follows' },
    {
      line: 'partnerctl chat tail --source src_1 --session anna --session ben --resume -o json',
      does: 'two sessions, each message once, over any number of runs',
    },
    { line: 'partnerctl chat tail --source src_1 --session anna --from-start --no-follow', does: 'all that was said' },
  ],
  parse(words) {
    const sessions = sessionsOf(words);
    const untilReply = words.isSet('until-reply');
    if (untilReply && !words.isSet('follow')) throw new UsageError('--until-reply and --no-follow exclude each other.');
    return {
      source_id: words.required('source'),
      sessions,
      start: startOf(words, sessions),
      follow: words.isSet('follow'),
      untilReply,
      timestamps: words.isSet('timestamps'),
      intervalMs: intervalOf(words),
      maxOutageMs: words.duration('max-outage'),
    };
  },
  async run(context, input) {
    return { kind: 'stream', events: events(context, await context.http(), input) };
  },
});
