import type { EndReason, FollowOptions } from './follow-types.ts';

/** What `EndCondition` takes into account besides replies. */
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

  /** Whether all awaited replies have arrived. */
  get hasReplies(): boolean {
    return this.until !== undefined && this.replies >= this.until.replies;
  }

  /** Counts a reply. */
  addReply(): void {
    this.replies += 1;
  }

  /**
   * Records a successful poll. The session is quiet once a poll that started after the settle time returns nothing.
   * @param hasNews whether the poll returned messages or announced more
   */
  addPoll(hasNews: boolean, startedAt: number, now: number): void {
    const settleMs = this.until?.settleMs;
    if (hasNews) this.lastActivityAt = now;
    else if (settleMs !== undefined && this.replies > 0 && startedAt >= this.lastActivityAt + settleMs) {
      this.isQuiet = true;
    }
  }

  /** Returns why following ends now; undefined to continue. */
  findReason({ isInterrupted, isCaughtUp, remainingMs, now }: FollowStatus): EndReason | undefined {
    if (isInterrupted) return 'interrupted';
    if (this.isQuiet || this.hasReplies) return 'replied';
    if (!this.follow && isCaughtUp) return 'caught-up';
    return now >= this.endsAt || remainingMs <= 0 ? 'timeout' : undefined;
  }
}
