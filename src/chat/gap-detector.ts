import type { HistoryPage } from '../api/history-page.ts';
import type { EarlierSign } from '../contract/earlier-page.ts';
import { isNewestFirst, mayDescend } from './message-order.ts';

/** Evidence that messages are, or may be, missing. */
export interface HistoryGap {
  readonly evidence: string;
  /** Whether the service itself says that there is more than it sent. */
  readonly isCertain: boolean;
  /** If only a stated number speaks of more: how every page was requested, as a value of the leaf. */
  readonly strategy?: string;
}

/** A response after a cursor usually has few messages; one with at least this many may be a full page. */
const MIN_FULL_PAGE = 10;

/**
 * Detects whether messages are missing from what was read. A history that is newest first and has no link to the next
 * page can hide older messages: the API cannot request messages before another one (spec §4.4).
 */
export class GapDetector {
  private readonly requestedCount: number;
  private read = 0;
  private totalPath: string | undefined;
  private statedTotal: number | undefined;
  private firstResponseSize: number | undefined;
  private fullPageSize: number | undefined;
  /** Whether the pages of the current response so far came oldest first: no older messages follow them. */
  private isAscending = false;
  /** Size of the last page, if it came newest first and announced more without a link. */
  private announcedAfter: number | undefined;
  private unreachableAfter: number | undefined;
  private unreachable: string | undefined;
  private earlier: EarlierSign | undefined;
  private strategy = 'none';
  private isReported = false;

  /** @param wanted how many of the last messages are requested; Infinity for all */
  constructor(wanted: number) {
    this.requestedCount = wanted;
  }

  /** Adds a page with `fresh` new messages. @param isInitial whether the page belongs to the first read, without a cursor */
  addPage(page: HistoryPage, { isInitial, fresh }: { readonly isInitial: boolean; readonly fresh: number }): void {
    const { messages, hasMore, hasNextLink, reachedByLink, isDeclaredEnd, total } = page;
    const descends = isNewestFirst(messages);
    this.read += fresh;
    this.unreachable ??= page.unreachable;
    if (isInitial) this.earlier ??= page.earlier;
    // A filter may be applied after a page was read: the next one has the rest.
    if (messages.length === 0 && hasMore) return;
    // The service announced more, but the cursor led to nothing new: the rest is older, and cannot be requested.
    if (fresh === 0) this.unreachableAfter ??= this.announcedAfter;
    if (!reachedByLink) this.isAscending = false;
    this.isAscending ||= mayDescend(messages.toReversed()) && !mayDescend(messages);
    const isEnough = isInitial && messages.length >= this.requestedCount;
    const mayAnnounceOlder = hasMore && !hasNextLink && !this.isAscending && mayDescend(messages);
    const announcesOlder = mayAnnounceOlder && !isEnough && fresh === messages.length;
    this.announcedAfter = announcesOlder ? messages.length : undefined;
    if (isInitial && total !== undefined) this.statedTotal ??= total;
    if (isInitial) this.totalPath ??= page.totalPath;
    if (isInitial) this.strategy = page.strategy;
    const mayHideOlder = !hasMore && !reachedByLink && !isDeclaredEnd && descends && total !== messages.length;
    if (!mayHideOlder || fresh < messages.length) return;
    if (isInitial) this.firstResponseSize = messages.length;
    else if (messages.length >= MIN_FULL_PAGE) this.fullPageSize = messages.length;
  }

  /** Returns a gap at most once. Call it after the last page of a response. */
  takeGap(): HistoryGap | undefined {
    const gap = this.isReported ? undefined : this.findGap();
    this.statedTotal = undefined;
    this.firstResponseSize = undefined;
    this.fullPageSize = undefined;
    this.unreachableAfter = undefined;
    this.unreachable = undefined;
    this.earlier = undefined;
    this.isReported ||= gap !== undefined;
    return gap;
  }

  private findGap(): HistoryGap | undefined {
    const { read, statedTotal, firstResponseSize, fullPageSize, unreachableAfter, unreachable, strategy } = this;
    if (unreachable !== undefined) {
      return { evidence: `the service announces more messages with ${unreachable}, but sends none`, isCertain: true };
    }
    if (this.earlier && read < this.requestedCount) {
      const { path, isCertain } = this.earlier;
      const says = isCertain
        ? `says with ${path} that others come before them`
        : `${path}, which may lead to earlier ones`;
      const evidence = `the service sent ${read} messages, and ${says}`;
      return { evidence, isCertain };
    }
    if (firstResponseSize !== undefined && firstResponseSize >= this.requestedCount) return undefined;
    if (statedTotal !== undefined && statedTotal > read) {
      const where = this.totalPath === undefined ? '' : ` (${this.totalPath})`;
      return {
        evidence: `the service states ${statedTotal} messages${where} but sent ${read}`,
        isCertain: true,
        strategy,
      };
    }
    if (unreachableAfter !== undefined) {
      const evidence = `the service has more than the ${unreachableAfter} newest messages but no link to them`;
      return { evidence, isCertain: true };
    }
    const size = firstResponseSize ?? fullPageSize;
    if (size === undefined) return undefined;
    const evidence = `the service sent ${size} messages, newest first, without a link to older ones and without saying that these are all`;
    return { evidence, isCertain: false };
  }
}
