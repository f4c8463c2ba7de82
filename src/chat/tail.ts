import type { Http } from '../api/http.ts';
import type { SessionRef } from '../contract/messages.ts';
import { UsageError } from '../errors.ts';
import { type FollowEnd, Follower, type FollowOptions, type SessionEvent } from './follow.ts';
import { followSession } from './followed-session.ts';
import { incompleteHistory } from './health.ts';
import { openPlaces, type Places } from './places.ts';
import type { ChatContext, FollowStart } from './session.ts';
import { isUnfinished } from './unfinished.ts';

export interface TailOptions extends FollowOptions {
  readonly once: boolean;
  /** `place`: where the last tail of the session ended. */
  readonly start: FollowStart | { readonly from: 'place' };
  /** Whether the next tail may continue where this one ends: by default. */
  readonly isRecorded?: boolean;
}

interface TypedStart {
  readonly session: readonly string[];
  readonly after?: string | undefined;
  readonly tail?: number | undefined;
  readonly fromStart?: boolean | undefined;
  readonly resume?: boolean | undefined;
}

const DEFAULT_TAIL = 10;

/** Reads where to start. @throws UsageError if the options contradict each other */
export function parseStart({ session, after, tail: count, fromStart, resume }: TypedStart): TailOptions['start'] {
  const typed = Object.entries({ after, tail: count, 'from-start': fromStart, resume });
  const starts = typed.filter(([, value]) => value !== undefined);
  if (starts.length > 1) throw new UsageError(`--${starts.map(([flag]) => flag).join(' and --')} cannot be combined.`);
  if (after !== undefined && new Set(session).size > 1) {
    throw new UsageError('--after names a message of one session, but several sessions are given.');
  }
  if (after !== undefined) return { from: 'after', message_id: after };
  if (fromStart) return { from: 'start' };
  return resume ? { from: 'place' } : { from: 'last', count: count ?? DEFAULT_TAIL };
}

function startAt(places: Places | undefined, ref: SessionRef): FollowStart {
  const recent = places?.read(ref) ?? [];
  const message_id = recent.at(-1);
  return message_id === undefined ? { from: 'start' } : { from: 'after', message_id, recent: recent.slice(0, -1) };
}

/**
 * Follows sessions and records where each tail is, so that the next one can continue without gaps or repeats. A message
 * is recorded when the next event is requested: the consumer has written it by then.
 * @throws PartnerctlError as `followSession` does, or if the tail did not end as it should
 */
export async function* tail(
  context: ChatContext,
  http: Http,
  sessions: readonly SessionRef[],
  { start, isRecorded = true, ...options }: TailOptions,
): AsyncGenerator<SessionEvent, void, void> {
  const { once } = options;
  // What is not recorded needs no state.
  const places = isRecorded ? openPlaces(context, http) : undefined;
  const follower = new Follower(context, http, options);
  const startOf = (ref: SessionRef): FollowStart => (start.from === 'place' ? startAt(places, ref) : start);
  let ends: readonly FollowEnd[] = [];
  const events = follower.events<SessionEvent>(async (emit) => {
    ends = await Promise.all(sessions.map((ref) => followSession(follower, ref, startOf(ref), emit)));
  });
  let hasCaughtUp = false;
  let gap: Extract<SessionEvent, { kind: 'gap' }> | undefined;
  for await (const event of events) {
    if (once && event.kind === 'gap' && event.isCertain) gap ??= event;
    else yield event;
    // The next tail shows the whole text of a reply that is still being written.
    const isWhole = event.kind === 'message' && !(once && isUnfinished(event.message));
    if (isWhole) await places?.add(event.ref, [event.message.message_id]);
    hasCaughtUp ||= event.kind === 'caught-up';
  }
  // Following ends well at the time limit if it read what existed in a session; a complete read does not.
  follower.checkEnd(once ? !ends.includes('cut short') : hasCaughtUp);
  if (gap) throw incompleteHistory(gap.ref.session_id, gap.evidence);
}
