import { NotFoundError } from '../errors.ts';
import type { SessionRef } from '../state-old/session-ref.ts';
import type { FoundSource } from './find-source.ts';
import { follow } from './follow.ts';
import type { FollowDeps, FollowEvent, Follower, FollowOptions } from './follow-types.ts';

/** Sessions to follow, all of one source if it may have to be looked up again. */
type SourceFollowOptions = FollowOptions & Pick<FoundSource, 'renew'>;

/**
 * Follows sessions like `follow`. If the service does not know a remembered source, the source is looked up again, and the
 * sessions of the one that is found are followed.
 * @throws PartnerctlError as `follow` and `renew` do
 */
export function followSource(deps: FollowDeps, { renew, ...options }: SourceFollowOptions): Follower {
  let follower = follow(deps, options);
  const [first, ...others] = new Set(options.sessions.map(({ source_id }) => source_id));
  let onlySource = others.length === 0 ? first : undefined;
  async function* events(): AsyncGenerator<FollowEvent, void, void> {
    const source_id = yield* untilUnknown(follower, async () => {
      const found = await renew();
      return found === onlySource ? undefined : found;
    });
    if (source_id === undefined) return;
    yield { kind: 'source-changed', source_id };
    onlySource = source_id;
    follower = follow(deps, { ...options, sessions: options.sessions.map((session) => ({ ...session, source_id })) });
    yield* follower.events;
  }
  // The caller may not have seen `source-changed` yet.
  const current = ({ source_id, session_id }: SessionRef) => ({ session_id, source_id: onlySource ?? source_id });
  return {
    events: events(),
    expectReply: (session) => follower.expectReply(current(session)),
    pollBy: (time, session) => follower.pollBy(time, session && current(session)),
  };
}

/** Yields events until the service turns out not to know the source. @returns the source to follow instead, if any */
async function* untilUnknown(
  { events }: Follower,
  renew: FoundSource['renew'],
): AsyncGenerator<FollowEvent, string | undefined, void> {
  try {
    for await (const event of events) {
      const renewed = event.kind === 'unknown-session' ? await renew() : undefined;
      if (renewed !== undefined) return renewed;
      yield event;
    }
    return undefined;
  } catch (error) {
    const renewed = error instanceof NotFoundError && error.info.status === 404 ? await renew() : undefined;
    if (renewed === undefined) throw error;
    return renewed;
  }
}
