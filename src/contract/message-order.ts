import type { Message } from './messages.ts';

type MessageRef = Pick<Message, 'message_id' | 'created_at'>;

/** Compares two messages by their indexes: negative if the first is older, 0 if nothing tells. */
type Compare = (left: number, right: number) => number;

/** Compares by values that all messages have; undefined if one has none. */
function comparing(values: readonly (number | bigint | undefined)[]): Compare | undefined {
  if (values.includes(undefined)) return undefined;
  return (left, right) => {
    const [first = 0, second = 0] = [values[left], values[right]];
    return Number(first > second) - Number(first < second);
  };
}

/** Orders by times and, within one, by the numbers that end ids (`msg_12`); else by these, if they rise or fall. */
function orderOf(messages: readonly MessageRef[]): Compare | undefined {
  const times = messages.map(({ created_at }) => Date.parse(created_at ?? ''));
  const digits = messages.map(({ message_id }) => /^\D*(\d{1,40})$/.exec(message_id)?.[1]);
  const byTime = comparing(times.map((time) => (Number.isNaN(time) ? undefined : time)));
  const byNumber = comparing(digits.map((each) => (each === undefined ? undefined : BigInt(each))));
  if (byTime) return (left, right) => byTime(left, right) || (byNumber?.(left, right) ?? 0);
  const signs = new Set(messages.slice(1).map((_, index) => byNumber?.(index, index + 1)));
  return signs.has(1) && signs.has(-1) ? undefined : byNumber;
}

/** Whether all messages have a time. Those of one moment stand in the order in which they were sent. */
export function haveTimes(messages: readonly MessageRef[]): boolean {
  return messages.every(({ created_at }) => !Number.isNaN(Date.parse(created_at ?? '')));
}

type Direction = 'oldest first' | 'newest first';

/** Whether messages lead from the oldest to the newest, or back; undefined if neither times nor ids tell. */
export function directionOf(messages: readonly MessageRef[]): Direction | undefined {
  const difference = orderOf(messages)?.(0, messages.length - 1) ?? 0;
  if (difference === 0) return undefined;
  return difference < 0 ? 'oldest first' : 'newest first';
}

/** Sorts messages oldest first, if times or ids tell. @param sent their direction at the service, if it is known */
export function sortOldestFirst<Message extends MessageRef>(
  messages: readonly Message[],
  sent = directionOf(messages),
): readonly Message[] {
  // Newest first, the later of two messages that nothing else orders is the older one.
  const oldestFirst = sent === 'newest first' ? messages.toReversed() : messages;
  const compare = orderOf(oldestFirst);
  if (!compare) return oldestFirst;
  const indexes = oldestFirst.map((_, index) => index);
  return indexes.toSorted(compare).flatMap((index) => oldestFirst[index] ?? []);
}
