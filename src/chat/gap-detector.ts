import type { HistoryPage } from '../api/history.ts';

/** Evidence that messages are, or may be, missing. */
export interface HistoryGap {
  readonly evidence: string;
  /** Whether the service itself says that there is more than it sent. */
  readonly isCertain: boolean;
}

/** A response after a cursor usually has few messages; one with at least this many may be a full page. */
const MIN_FULL_PAGE = 10;

/**
 * Detects whether messages are missing from what was read. A history that is newest first and has no link to the next
 * page can hide older messages: the API cannot request messages before another one (spec §4.4).
 */
export class GapDetector {
  private readonly requestedCount: number;
  private gap: HistoryGap | undefined;
  private isReported = false;

  /** @param requestedCount how many of the last messages are requested; Infinity for all */
  constructor(requestedCount: number) {
    this.requestedCount = requestedCount;
  }

  /** Adds a page with `fresh` new messages. @param isInitial whether the page belongs to the first read, without a cursor */
  addPage(page: HistoryPage, { isInitial, fresh }: { readonly isInitial: boolean; readonly fresh: number }): void {
    const { messages, unexplained, mayHideOlder } = page;
    if (unexplained !== undefined) {
      const evidence = `the service announces more messages with ${unexplained}, but sends none`;
      this.gap = { evidence, isCertain: true };
      return;
    }
    const isFull = isInitial ? messages.length < this.requestedCount : messages.length >= MIN_FULL_PAGE;
    if (!mayHideOlder || fresh < messages.length || !isFull) return;
    const evidence = `the service sent ${messages.length} messages, newest first, without a link to older ones and without saying that these are all`;
    this.gap ??= { evidence, isCertain: false };
  }

  /** Returns a gap at most once. Call it after the last page of a response. */
  takeGap(): HistoryGap | undefined {
    const gap = this.isReported ? undefined : this.gap;
    this.gap = undefined;
    this.isReported ||= gap !== undefined;
    return gap;
  }
}
