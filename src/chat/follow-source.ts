import { NotFoundError } from '../errors.ts';
import type { FoundSource } from './find-source.ts';
import { follow } from './follow.ts';
import type { FollowDeps, FollowEvent, Follower, FollowOptions } from './types.ts';

type SourceFollowOptions = Omit<FollowOptions, 'source_id'>;

/**
 * Follows sessions like `follow`. If the service does not know a remembered source, the source is looked up again, and the
 * sessions of the one that is found are followed.
 * @throws PartnerctlError as `follow` and `renew` do
 */
export function followSource(
  deps: FollowDeps,
  { source_id, renew }: FoundSource,
  options: SourceFollowOptions,
): Follower {
  let follower = follow(deps, { ...options, source_id });
  async function* events(): AsyncGenerator<FollowEvent, void, void> {
    const renewed = yield* untilUnknown(follower, async () => {
      const found = await renew();
      return found === source_id ? undefined : found;
    });
    if (renewed === undefined) return;
    yield { kind: 'source-changed', source_id: renewed };
    follower = follow(deps, { ...options, source_id: renewed });
    yield* follower.events;
  }
  return { events: events(), expectReply: (sessionId) => follower.expectReply(sessionId) };
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
