import type { Http } from '../../../api/http.ts';
import { followDeps, openPlaces } from '../../../chat/context.ts';
import type { SessionRef } from '../../../chat/session.ts';
import { type TailOptions, tail } from '../../../chat/tail.ts';
import { explainUnrecognized, isUnrecognized } from '../../../chat/unrecognized-author.ts';
import type { Context } from '../../../cli/context.ts';
import type { Message } from '../../../contract/messages.ts';
import type { StreamEvent } from '../../../output/command-result.ts';
import { toStreamEvent, writeNotice } from './messages.ts';

/** Says that the sessions have no messages to start with; undefined if none are wanted. */
function describeEmpty(sessions: readonly SessionRef[], { start, once }: TailOptions): string | undefined {
  if (start.from === 'last' && start.count === 0) return undefined;
  const ids = sessions.map(({ session_id }) => session_id).join(', ');
  const where = `${sessions.length === 1 ? 'session' : 'sessions'} ${ids}`;
  const waiting = once ? '' : ' Waiting for new ones; Ctrl-C ends the tail.';
  if (start.from === 'after') return `No messages after ${start.message_id} in ${where} yet.${waiting}`;
  return `${start.from === 'place' ? `No new messages in ${where}.` : `No messages in ${where} yet.`}${waiting}`;
}

/** Enough for a history whose authors are the names of people. */
const MAX_AUTHOR_WARNINGS = 3;

/** Creates the function that warns of authors that are not recognized, of each only once. */
function warnOfAuthors(context: Context, { contract }: Http): (message: Message) => Promise<void> {
  const warned = new Set<string>();
  return async (message) => {
    if (!isUnrecognized(message) || warned.has(message.role) || warned.size >= MAX_AUTHOR_WARNINGS) return;
    warned.add(message.role);
    const doubt = explainUnrecognized([message], contract, context.command);
    if (doubt) await context.warn(`${doubt.why} ${doubt.hint.replaceAll('\n', ' ')}`);
  };
}

/** What `chat tail` writes. */
export async function* toStreamEvents(
  context: Context,
  http: Http,
  sessions: readonly SessionRef[],
  { showTimestamp, ...options }: TailOptions & { readonly showTimestamp: boolean },
): AsyncGenerator<StreamEvent, void, void> {
  const places = await openPlaces(context, http);
  const warnOfAuthor = warnOfAuthors(context, http);
  const withMessages = new Set<string>();
  let empty = 0;
  for await (const event of tail(followDeps(context, http), places, sessions, options)) {
    const { session_id } = event.ref;
    if (event.kind === 'message') {
      withMessages.add(session_id);
      const label = sessions.length > 1 ? session_id : undefined;
      yield toStreamEvent(event.ref, event.message, { label, showTimestamp });
      await warnOfAuthor(event.message);
    } else if (event.kind === 'caught-up') {
      if (!withMessages.has(session_id)) empty += 1;
      const text = empty === sessions.length ? describeEmpty(sessions, options) : undefined;
      if (text !== undefined) await context.notice(text);
    } else await writeNotice(context, event);
  }
}
