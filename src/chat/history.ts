import type { HistoryPage } from '../api/chat.ts';

/** The fields of a message that ordering and deduplication need. */
export interface MessageRef {
  readonly message_id: string;
  /** ISO 8601; null if the service does not send it. */
  readonly created_at: string | null;
}

export interface Timestamp {
  readonly ms: number;
  /** The digits after the seconds, without trailing zeros: a service may be more precise than milliseconds. */
  readonly fraction: string;
}

/** Parses `created_at`; undefined if it is missing or not a date. */
export function parseTimestamp({ created_at }: MessageRef): Timestamp | undefined {
  const ms = created_at === null ? Number.NaN : Date.parse(created_at);
  if (created_at === null || Number.isNaN(ms)) return undefined;
  return { ms, fraction: /:\d\d\.(\d+)/.exec(created_at)?.[1]?.replace(/0+$/, '') ?? '' };
}

export function compareTimestamps(left: Timestamp, right: Timestamp): number {
  if (left.ms !== right.ms) return left.ms - right.ms;
  return left.fraction < right.fraction ? -1 : left.fraction > right.fraction ? 1 : 0;
}

/** Sorts oldest first if every entry has a timestamp (entries with equal ones keep their order), else not at all. */
export function sortByTimestamp<Entry extends { readonly timestamp: Timestamp | undefined }>(
  entries: readonly Entry[],
): readonly Entry[] {
  if (entries.some(({ timestamp }) => timestamp === undefined)) return entries;
  return entries.toSorted(({ timestamp: left }, { timestamp: right }) =>
    left && right ? compareTimestamps(left, right) : 0,
  );
}

/** With fewer messages, a descending order may be an accident. */
const MIN_ORDERED = 3;

/** How each message compares to the next one; undefined with too few messages or without timestamps. */
function compareNeighbors(messages: readonly MessageRef[]): readonly number[] | undefined {
  const timestamps = messages.flatMap((message) => parseTimestamp(message) ?? []);
  if (messages.length < MIN_ORDERED || timestamps.length < messages.length) return undefined;
  return timestamps.slice(1).map((timestamp, index) => compareTimestamps(timestamps[index] ?? timestamp, timestamp));
}

/** Whether each of at least three messages is older than the one before it. False if one has no timestamp. */
export function isNewestFirst(messages: readonly MessageRef[]): boolean {
  return compareNeighbors(messages)?.every((difference) => difference > 0) ?? false;
}

/** Like `isNewestFirst`, but messages may share a timestamp, as long as not all do. */
export function isDescending(messages: readonly MessageRef[]): boolean {
  const differences = compareNeighbors(messages) ?? [];
  return differences.every((difference) => difference >= 0) && differences.some((difference) => difference > 0);
}

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
  private read = 0;
  private statedTotal: number | undefined;
  private firstResponseSize: number | undefined;
  private fullPageSize: number | undefined;
  /** Size of the last page, if it came newest first and announced more without a link. */
  private announcedAfter: number | undefined;
  private unreachableAfter: number | undefined;
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
    // The service announced more, but the cursor led to nothing new: the rest is older, and cannot be requested.
    if (fresh === 0) this.unreachableAfter ??= this.announcedAfter;
    const isEnough = isInitial && messages.length >= this.requestedCount;
    const announcesOlder = !isEnough && hasMore && !hasNextLink && fresh === messages.length && descends;
    this.announcedAfter = announcesOlder ? messages.length : undefined;
    if (isInitial && total !== undefined) this.statedTotal ??= total;
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
    this.isReported ||= gap !== undefined;
    return gap;
  }

  private findGap(): HistoryGap | undefined {
    const { read, statedTotal, firstResponseSize, fullPageSize, unreachableAfter } = this;
    if (firstResponseSize !== undefined && firstResponseSize >= this.requestedCount) return undefined;
    if (statedTotal !== undefined && statedTotal > read) {
      return { evidence: `the service states ${statedTotal} messages but sent ${read}`, isCertain: true };
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
