/** The fields of a message that ordering and deduplication need. */
export interface MessageRef {
  readonly message_id: string;
  /** ISO 8601; null if the service does not send it. */
  readonly created_at: string | null;
}

interface Timestamp {
  readonly ms: number;
  /** The digits after the seconds, without trailing zeros: a service may be more precise than milliseconds. */
  readonly fraction: string;
}

/** Parses `created_at`; undefined if it is missing or not a date. */
function parseTimestamp({ created_at }: MessageRef): Timestamp | undefined {
  const ms = created_at === null ? Number.NaN : Date.parse(created_at);
  if (created_at === null || Number.isNaN(ms)) return undefined;
  return { ms, fraction: /:\d\d\.(\d+)/.exec(created_at)?.[1]?.replace(/0+$/, '') ?? '' };
}

function compareTimestamps(left: Timestamp, right: Timestamp): number {
  if (left.ms !== right.ms) return left.ms - right.ms;
  return left.fraction < right.fraction ? -1 : left.fraction > right.fraction ? 1 : 0;
}

/** The number at the end of an id, if ids are numbered: `msg_12` has 12. */
function numberOf({ message_id }: MessageRef): bigint | undefined {
  const [, digits] = /^\D*(\d{1,40})$/.exec(message_id) ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}

/** What the fields of messages say about their order. */
interface Order {
  /** Negative if the first message is older, positive if it is newer, 0 if nothing tells. */
  compare(left: number, right: number): number;
}

function sign(difference: bigint): number {
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

/** Whether neighbors never compare in both directions. */
function isMonotonic({ compare }: Order, length: number): boolean {
  const signs = new Set(Array.from({ length: length - 1 }, (_, index) => Math.sign(compare(index, index + 1))));
  return !(signs.has(1) && signs.has(-1));
}

/**
 * Orders messages by their times, or where one has none, by the numbers of their ids, if these only rise or only fall. Ties of
 * time are ordered by the numbers, unless these contradict a time.
 * @returns undefined if neither orders them
 */
function orderOf(messages: readonly MessageRef[]): Order | undefined {
  const numbers = messages.flatMap((message) => numberOf(message) ?? []);
  const isNumbered = numbers.length === messages.length;
  const byNumber = (left: number, right: number) => sign((numbers[left] ?? 0n) - (numbers[right] ?? 0n));
  const times = messages.flatMap((message) => parseTimestamp(message) ?? []);
  if (times.length < messages.length) {
    const order = { compare: byNumber };
    return isNumbered && isMonotonic(order, messages.length) ? order : undefined;
  }
  const byTime = (left: number, right: number) => {
    const [first, second] = [times[left], times[right]];
    return first && second ? compareTimestamps(first, second) : 0;
  };
  const agrees =
    isNumbered &&
    numbers.every((_, index) => index === 0 || byTime(index - 1, index) * byNumber(index - 1, index) >= 0);
  return { compare: (left, right) => byTime(left, right) || (agrees ? byNumber(left, right) : 0) };
}

/** Whether messages lead from the oldest to the newest, or back; undefined if neither times nor ids tell. */
export function directionOf(messages: readonly MessageRef[]): 'oldest first' | 'newest first' | undefined {
  const difference = orderOf(messages)?.compare(0, messages.length - 1) ?? 0;
  if (difference === 0) return undefined;
  return difference < 0 ? 'oldest first' : 'newest first';
}

/**
 * Sorts messages oldest first, if their times or ids tell, else not at all.
 * @returns the indexes in that order
 */
export function sortOldestFirst(messages: readonly MessageRef[]): readonly number[] {
  const indexes = messages.map((_, index) => index);
  const order = orderOf(messages);
  if (!order) return indexes;
  // Newest first, the later of two messages that nothing else orders is the older one.
  const tie = directionOf(messages) === 'newest first' ? -1 : 1;
  return indexes.toSorted((left, right) => order.compare(left, right) || tie * (left - right));
}
