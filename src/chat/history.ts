import type { HistoryPage } from '../api/history.ts';

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

/** The number at the end of an id, if ids are numbered: `msg_12` has 12. */
function numberOf({ message_id }: MessageRef): bigint | undefined {
  const [, digits] = /^\D*(\d{1,19})$/.exec(message_id) ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}

/** What the fields of a page's messages say about their order. */
interface Order {
  /** Negative if the first message is older, positive if it is newer, 0 if nothing tells. */
  compare(left: number, right: number): number;
}

function sign(difference: bigint): number {
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

/**
 * Orders messages by their timestamps. Ties are ordered by the numbers of the ids, unless these contradict a timestamp.
 * @returns undefined if a message has no timestamp
 */
function orderOf(messages: readonly MessageRef[]): Order | undefined {
  const timestamps = messages.flatMap((message) => parseTimestamp(message) ?? []);
  if (timestamps.length < messages.length) return undefined;
  const byTime = (left: number, right: number) => {
    const [first, second] = [timestamps[left], timestamps[right]];
    return first && second ? compareTimestamps(first, second) : 0;
  };
  const numbers = messages.flatMap((message) => numberOf(message) ?? []);
  const byNumber = (left: number, right: number) => sign((numbers[left] ?? 0n) - (numbers[right] ?? 0n));
  const isNumbered =
    numbers.length === messages.length &&
    numbers.every((_, index) => index === 0 || byTime(index - 1, index) * byNumber(index - 1, index) >= 0);
  return { compare: (left, right) => byTime(left, right) || (isNumbered ? byNumber(left, right) : 0) };
}

/**
 * Sorts messages oldest first if every one has a timestamp, else not at all.
 * @returns the indexes in that order
 */
export function sortOldestFirst(messages: readonly MessageRef[]): readonly number[] {
  const indexes = messages.map((_, index) => index);
  const order = orderOf(messages);
  if (!order) return indexes;
  // Newest first, the later of two messages that nothing else orders is the older one.
  const tie = isDescending(messages) ? -1 : 1;
  return indexes.toSorted((left, right) => order.compare(left, right) || tie * (left - right));
}

/** With fewer messages, a descending order may be an accident. */
const MIN_ORDERED = 3;

/** How each message compares to the next one; undefined with too few messages or without timestamps. */
function compareNeighbors(messages: readonly MessageRef[]): readonly number[] | undefined {
  const order = messages.length < MIN_ORDERED ? undefined : orderOf(messages);
  return order && messages.slice(1).map((_, index) => order.compare(index, index + 1));
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

/** Whether no message is newer than the one before it: so few messages, or ties, may be newest first. */
function mayDescend(messages: readonly MessageRef[]): boolean {
  const order = orderOf(messages);
  return order !== undefined && messages.slice(1).every((_, index) => order.compare(index, index + 1) >= 0);
}

/** Evidence that messages are, or may be, missing. */
export interface HistoryGap {
  readonly evidence: string;
  /** Whether the service itself says that there is more than it sent. */
  readonly isCertain: boolean;
  /** If only a stated number speaks of more: how every page was requested, as a value of the leaf. */
  readonly way?: string;
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
  /** Size of the last page, if it came newest first and announced more without a link. */
  private announcedAfter: number | undefined;
  private unreachableAfter: number | undefined;
  private unreachable: string | undefined;
  private way = 'none';
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
    // A filter may be applied after a page was read: the next one has the rest.
    if (messages.length === 0 && hasMore) return;
    // The service announced more, but the cursor led to nothing new: the rest is older, and cannot be requested.
    if (fresh === 0) this.unreachableAfter ??= this.announcedAfter;
    const isEnough = isInitial && messages.length >= this.requestedCount;
    const announcesOlder = !isEnough && hasMore && !hasNextLink && fresh === messages.length && mayDescend(messages);
    this.announcedAfter = announcesOlder ? messages.length : undefined;
    if (isInitial && total !== undefined) this.statedTotal ??= total;
    if (isInitial) this.totalPath ??= page.totalPath;
    if (isInitial) this.way = page.way;
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
    this.isReported ||= gap !== undefined;
    return gap;
  }

  private findGap(): HistoryGap | undefined {
    const { read, statedTotal, firstResponseSize, fullPageSize, unreachableAfter, unreachable, way } = this;
    if (unreachable !== undefined) {
      return { evidence: `the service announces more messages with ${unreachable}, but sends none`, isCertain: true };
    }
    if (firstResponseSize !== undefined && firstResponseSize >= this.requestedCount) return undefined;
    if (statedTotal !== undefined && statedTotal > read) {
      const where = this.totalPath === undefined ? '' : ` (${this.totalPath})`;
      return { evidence: `the service states ${statedTotal} messages${where} but sent ${read}`, isCertain: true, way };
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
