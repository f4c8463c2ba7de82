/** The fields of a message that ordering needs. */
interface MessageRef {
  readonly message_id: string;
  /** ISO 8601; null if the service does not send it. */
  readonly created_at: string | null;
}

/** Negative if the first message is older, positive if it is newer, 0 if nothing tells. */
type Compare = (left: number, right: number) => number;

/** A time, more precise than milliseconds if the service is; undefined if it is missing or not a date. */
function timeOf({ created_at }: MessageRef): { readonly ms: number; readonly fraction: string } | undefined {
  const ms = Date.parse(created_at ?? '');
  return Number.isNaN(ms) ? undefined : { ms, fraction: /:\d\d\.(\d+)/.exec(created_at ?? '')?.[1] ?? '' };
}

/** The number at the end of an id, if ids are numbered: `msg_12` has 12. */
function numberOf({ message_id }: MessageRef): bigint | undefined {
  const [, digits] = /^\D*(\d{1,40})$/.exec(message_id) ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}

/** Whether a comparison of neighbors says the same everywhere. */
function isMonotonic(compare: Compare, length: number): boolean {
  const signs = new Set(Array.from({ length: length - 1 }, (_, index) => compare(index, index + 1)));
  return !(signs.has(1) && signs.has(-1));
}

/** Compares by values that all messages have; undefined if one has none. */
function comparing<Value>(
  messages: readonly MessageRef[],
  valueIn: (message: MessageRef) => Value | undefined,
  isLess: (left: Value, right: Value) => boolean,
): Compare | undefined {
  const values = messages.flatMap((message) => valueIn(message) ?? []);
  if (values.length < messages.length) return undefined;
  return (left, right) => {
    const [first, second] = [values[left], values[right]];
    if (first === undefined || second === undefined) return 0;
    return isLess(first, second) ? -1 : isLess(second, first) ? 1 : 0;
  };
}

/**
 * Orders messages by their times, or where one has none, by the numbers of their ids, if these only rise or only fall. Ties of
 * time are ordered by the numbers, unless these contradict a time.
 * @returns undefined if neither orders them
 */
function orderOf(messages: readonly MessageRef[]): Compare | undefined {
  const byNumber = comparing(messages, numberOf, (left, right) => left < right);
  const byTime = comparing(messages, timeOf, (left, right) =>
    left.ms === right.ms ? left.fraction < right.fraction : left.ms < right.ms,
  );
  if (!byTime) return byNumber && isMonotonic(byNumber, messages.length) ? byNumber : undefined;
  const agrees =
    byNumber && messages.every((_, index) => index === 0 || byTime(index - 1, index) * byNumber(index - 1, index) >= 0);
  return (left, right) => byTime(left, right) || (agrees ? byNumber(left, right) : 0);
}

/** Whether messages lead from the oldest to the newest, or back; undefined if neither times nor ids tell. */
export function directionOf(messages: readonly MessageRef[]): 'oldest first' | 'newest first' | undefined {
  const difference = orderOf(messages)?.(0, messages.length - 1) ?? 0;
  if (difference === 0) return undefined;
  return difference < 0 ? 'oldest first' : 'newest first';
}

/** Sorts messages oldest first, if their times or ids tell, else not at all. */
export function sortOldestFirst<Message extends MessageRef>(messages: readonly Message[]): readonly Message[] {
  const compare = orderOf(messages);
  if (!compare) return messages;
  // Newest first, the later of two messages that nothing else orders is the older one.
  const tie = compare(0, messages.length - 1) > 0 ? -1 : 1;
  const indexes = messages.map((_, index) => index);
  const sorted = indexes.toSorted((left, right) => compare(left, right) || tie * (left - right));
  return sorted.flatMap((index) => messages[index] ?? []);
}
