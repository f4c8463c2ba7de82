import type { Http } from '../../../api/http.ts';
import type { SessionRef } from '../../../chat/session.ts';
import { type TailOptions, tail } from '../../../chat/tail.ts';
import { explainUnrecognized, isUnrecognized } from '../../../chat/unrecognized-author.ts';
import type { Context } from '../../../cli/context.ts';
import type { StreamEvent } from '../../../output/command-result.ts';
import { toStreamEvent, writeNotice } from './messages.ts';

/** What `chat tail` writes. */
export async function* toStreamEvents(
  context: Context,
  http: Http,
  sessions: readonly SessionRef[],
  { showTimestamp, ...options }: TailOptions & { readonly showTimestamp: boolean },
): AsyncGenerator<StreamEvent, void, void> {
  let hasWarned = false;
  let unread = sessions.length;
  let isEmpty = true;
  for await (const event of tail(context, http, sessions, options)) {
    if (event.kind === 'message') {
      const label = sessions.length > 1 ? event.ref.session_id : undefined;
      yield toStreamEvent(event.ref, event.message, { label, showTimestamp });
      isEmpty = false;
      if (hasWarned || !isUnrecognized(event.message)) continue;
      hasWarned = true;
      const { why, hint } = explainUnrecognized(event.message, http.contract, context.command);
      await context.warn(`${why} ${hint.replaceAll('\n', ' ')}`);
    } else if (event.kind === 'caught-up') {
      unread -= 1;
      if (unread === 0 && isEmpty) await context.notice('No messages to show yet.');
    } else await writeNotice(context, event);
  }
}
