import type { Http } from '../../../api/http.ts';
import { followDeps, openPlaces } from '../../../chat/context.ts';
import { readLimits } from '../../../chat/read-limits.ts';
import type { SessionRef } from '../../../chat/session.ts';
import { type TailOptions, tail } from '../../../chat/tail.ts';
import { explainUnrecognized, isUnrecognized } from '../../../chat/unrecognized-author.ts';
import type { Context } from '../../../cli/context.ts';
import type { Message } from '../../../contract/messages.ts';
import type { StreamEvent } from '../../../output/command-result.ts';
import { joinSentences } from '../../../output/sentences.ts';
import { toStreamEvent, writeNotice } from './message-output.ts';

/** Says that the sessions have no messages to start with; undefined if none are wanted. */
function describeEmpty(sessions: readonly string[], { start, once }: TailOptions): string | undefined {
  if (start.from === 'last' && start.count === 0) return undefined;
  const where = `${sessions.length === 1 ? 'session' : 'sessions'} ${sessions.join(', ')}`;
  const waiting = once ? '' : ' Waiting for new ones; Ctrl-C ends the tail.';
  if (start.from === 'after') return `No messages after ${start.message_id} in ${where} yet.${waiting}`;
  return `${start.from === 'place' ? `No new messages in ${where}.` : `No messages in ${where} yet.`}${waiting}`;
}

/** What is tailed, and how messages are shown. */
interface Tailed {
  readonly http: Http;
  readonly sessions: readonly SessionRef[];
  readonly showTimestamp: boolean;
}

/** Enough for a history whose authors are the names of people. */
const MAX_AUTHOR_WARNINGS = 3;

/** Creates the function that warns of authors that are not recognized, of each only once. */
function warnOfAuthors(context: Context, { contract }: Http): (message: Message) => Promise<void> {
  /** One message of each author. */
  const messages: Message[] = [];
  return async (message) => {
    const isKnown = !isUnrecognized(message) || messages.some(({ role }) => role === message.role);
    if (isKnown || messages.length >= MAX_AUTHOR_WARNINGS) return;
    messages.push(message);
    const doubt = explainUnrecognized(messages, contract, context.command);
    if (doubt) await context.warn(`${doubt.why} ${doubt.hint.replaceAll('\n', ' ')}`);
  };
}

/** What `chat tail` writes. */
export async function* toStreamEvents(
  context: Context,
  { http, sessions, showTimestamp }: Tailed,
  options: TailOptions,
): AsyncGenerator<StreamEvent, void, void> {
  const places = await openPlaces(context, http);
  const limits = readLimits(options.once ?? false, options.maxOutageMs, context.flags.retries);
  const deps = {
    ...followDeps(context, http),
    places,
    onUnrecorded: ({ message }: Error) =>
      context.warn(joinSentences(`${message}\nThe next --resume may not find where this tail ended.`)),
  };
  const warnOfAuthor = warnOfAuthors(context, http);
  const withMessages = new Set<string>();
  let empty = 0;
  for await (const event of tail(deps, sessions, { ...options, ...limits })) {
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
