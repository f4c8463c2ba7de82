import type { EndReason, FollowOptions } from './terms.ts';

/** What decides about the end, besides the replies. */
export interface Standing {
  readonly isInterrupted: boolean;
  /** Whether everything that was there has been read, in every session. */
  readonly isRead: boolean;
  /** Milliseconds that the command has left. */
  readonly patienceMs: number;
  readonly now: number;
}

/** Decides when following ends. Moments are in milliseconds since the epoch. */
export class Ending {
  readonly endsAt: number;
  private readonly follows: boolean;
  private readonly until: FollowOptions['until'];
  private replies = 0;
  private lastShownAt: number;
  private isQuiet = false;

  constructor({ follow, timeoutMs, until }: Pick<FollowOptions, 'follow' | 'timeoutMs' | 'until'>, now: number) {
    this.endsAt = now + (timeoutMs ?? Number.POSITIVE_INFINITY);
    this.follows = follow;
    this.until = until;
    this.lastShownAt = now;
  }

  /** Whether as many replies have come as are waited for. */
  get hasReplies(): boolean {
    return this.until !== undefined && this.replies >= this.until.replies;
  }

  /** A reply came that counts. */
  replied(): void {
    this.replies += 1;
  }

  /**
   * A poll that began at `startedAt` was answered. Quiet is what a poll finds that began after the time to settle, and
   * brought nothing.
   * @param isLively whether it brought something, or there is more to come
   */
  polled(isLively: boolean, startedAt: number, now: number): void {
    const settleMs = this.until?.settleMs;
    if (isLively) this.lastShownAt = now;
    else if (settleMs !== undefined && this.replies > 0 && startedAt >= this.lastShownAt + settleMs)
      this.isQuiet = true;
  }

  /** Why it ends now; undefined to go on. */
  why({ isInterrupted, isRead, patienceMs, now }: Standing): EndReason | undefined {
    if (isInterrupted) return 'interrupted';
    if (this.isQuiet || this.hasReplies) return 'replied';
    if (!this.follows && isRead) return 'read';
    return now >= this.endsAt || patienceMs <= 0 ? 'timeout' : undefined;
  }
}
