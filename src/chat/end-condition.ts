import type { EndReason, FollowOptions } from './types.ts';

/** What decides about the end, besides replies. */
export interface FollowStatus {
  readonly isInterrupted: boolean;
  /** Whether everything that existed at the start has been read, in every session. */
  readonly isCaughtUp: boolean;
  /** How long the command may still run, in milliseconds. */
  readonly remainingMs: number;
  readonly now: number;
}

/** Decides when following ends. Times are in milliseconds since the epoch. */
export class EndCondition {
  readonly endsAt: number;
  private readonly follow: boolean;
  private readonly until: FollowOptions['until'];
  private replies = 0;
  private lastActivityAt: number;
  private isQuiet = false;

  constructor({ follow, timeoutMs, until }: Pick<FollowOptions, 'follow' | 'timeoutMs' | 'until'>, now: number) {
    this.endsAt = now + (timeoutMs ?? Number.POSITIVE_INFINITY);
    this.follow = follow;
    this.until = until;
    this.lastActivityAt = now;
  }

  /** Whether as many replies came as are waited for. */
  get hasReplies(): boolean {
    return this.until !== undefined && this.replies >= this.until.replies;
  }

  /** Counts a reply. */
  addReply(): void {
    this.replies += 1;
  }

  /**
   * Records an answered poll. It is quiet once a poll that began after the settle time brings nothing.
   * @param hasNews whether it brought something, or announced more
   */
  addPoll(hasNews: boolean, startedAt: number, now: number): void {
    const settleMs = this.until?.settleMs;
    if (hasNews) this.lastActivityAt = now;
    else if (settleMs !== undefined && this.replies > 0 && startedAt >= this.lastActivityAt + settleMs) {
      this.isQuiet = true;
    }
  }

  /** Why following ends now; undefined to go on. */
  findReason({ isInterrupted, isCaughtUp, remainingMs, now }: FollowStatus): EndReason | undefined {
    if (isInterrupted) return 'interrupted';
    if (this.isQuiet || this.hasReplies) return 'replied';
    if (!this.follow && isCaughtUp) return 'caught-up';
    return now >= this.endsAt || remainingMs <= 0 ? 'timeout' : undefined;
  }
}
