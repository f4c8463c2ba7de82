/** What the follower has to know of a message. */
export interface Placed {
  readonly message_id: string;
  /** ISO 8601, when the service tells it. */
  readonly created_at: string | null;
}

/** Where the following of a session begins. */
export type TailStart =
  | { readonly from: 'start' }
  /** `recent`: ids that came shortly before, oldest first, where an earlier run remembers them. */
  | { readonly from: 'after'; readonly message_id: string; readonly recent?: readonly string[] };

/** How many messages behind the newest the cursor may stay. */
export const MOST_BEHIND = 8;
/** How long the cursor stays behind: messages that come to light late do so within moments. */
export const BEHIND_MS = 10_000;
/** Ids that are always remembered; twice as many are at most. */
export const REMEMBERED = 1_000;

interface Moment {
  readonly ms: number;
  /** Digits after the seconds: a service may be more exact than milliseconds. */
  readonly fraction: string;
}

function momentOf({ created_at }: Placed): Moment | undefined {
  const ms = created_at === null ? Number.NaN : Date.parse(created_at);
  if (created_at === null || Number.isNaN(ms)) return undefined;
  return { ms, fraction: /:\d\d\.(\d+)/.exec(created_at)?.[1]?.replace(/0+$/, '') ?? '' };
}

function compare(left: Moment, right: Moment): number {
  if (left.ms !== right.ms) return left.ms - right.ms;
  return left.fraction < right.fraction ? -1 : left.fraction > right.fraction ? 1 : 0;
}

interface Entry<Message> {
  readonly message: Message;
  readonly moment: Moment | undefined;
  /** Its place in the answer. */
  readonly index: number;
}

function inOrder<Message>(entries: readonly Entry<Message>[]): readonly Entry<Message>[] {
  const dated = entries.flatMap(({ moment, ...rest }) => (moment ? [{ ...rest, moment }] : []));
  if (dated.length < entries.length) return entries;
  return dated.sort((left, right) => compare(left.moment, right.moment));
}

/** From so many messages on, each of them earlier than the one before, an order is no accident. */
const LEAST_ORDERED = 3;

/** Whether an answer stands the other way round: the newest first. Never of one with a message without a moment. */
export function isNewestFirst(messages: readonly Placed[]): boolean {
  if (messages.length < LEAST_ORDERED) return false;
  const moments = messages.flatMap((message) => momentOf(message) ?? []);
  if (moments.length < messages.length) return false;
  return moments.every((moment, index) => {
    const before = moments[index - 1];
    return before === undefined || compare(before, moment) > 0;
  });
}

/** Whether no message of an answer is later than the one before it, and the last is earlier than the first. */
function leadsDown(entries: readonly Entry<unknown>[]): boolean {
  const moments = entries.flatMap(({ moment }) => moment ?? []);
  const [first] = moments;
  const last = moments.at(-1);
  if (moments.length < LEAST_ORDERED || moments.length < entries.length || !first || !last) return false;
  return (
    compare(first, last) > 0 && moments.every((moment, index) => compare(moments[index - 1] ?? first, moment) >= 0)
  );
}

interface Trace {
  /** Undefined for the beginning of the session. */
  readonly message_id: string | undefined;
  /** In milliseconds since the epoch. */
  readonly seenAt: number;
}

/**
 * The bookkeeping of one followed session: which messages of an answer are new, in which order, and after which message
 * to ask next. Its memory does not grow with the session.
 *
 * It would rather show a message twice than lose one. A message counts as seen when its id is remembered; beyond what is
 * remembered, only when it is older than everything remembered and stands before something remembered, or when the
 * service ignores the cursor and begins with the beginning once more.
 */
export class SessionTail<Message extends Placed> {
  private readonly seen = new Map<string, Moment | undefined>();
  /** The last messages in the order of the answers, oldest first: what the cursor is chosen from. */
  private trail: Trace[] = [];
  private readonly refused = new Set<string | undefined>();
  /** Set when the service refused a cursor that is not the newest. */
  private exact = false;
  private readonly fromStart: boolean;
  /** Whether the next cursor is the newest. */
  private direct: boolean;
  /** Set once ids have been forgotten: the oldest moment that is remembered. */
  private floor: Moment | undefined;
  private readonly known: ReadonlySet<string>;
  /** The very first message that came: an answer that comes back to it begins with the beginning. */
  private first: string | undefined;
  /** Whether an answer was seen that begins with the newest: what is older than the start then follows it. */
  private isTurned = false;
  /** The moment of the message to begin after, once it came itself: of the oldest one where several are known. */
  private startMoment: Moment | undefined;
  /** Whether the answer being read began so, and has not yet come to what is remembered. */
  private repeats = false;

  /** @param now milliseconds since the epoch */
  constructor(start: TailStart, now: number) {
    this.fromStart = start.from === 'start';
    this.direct = start.from === 'after';
    const known = start.from === 'start' ? [] : [...(start.recent ?? []), start.message_id];
    this.known = new Set(known);
    for (const message_id of known) this.seen.set(message_id, undefined);
    const places = start.from === 'start' ? [undefined] : known.slice(-MOST_BEHIND);
    this.trail = places.map((message_id) => ({ message_id, seenAt: now }));
  }

  /** How many ids it remembers. */
  get size(): number {
    return this.seen.size;
  }

  /** The last messages seen, oldest first; at first those that it begins behind. */
  get latest(): readonly string[] {
    return this.trail.flatMap(({ message_id }) => message_id ?? []);
  }

  /** Whether an answer to this cursor that brings nothing new says that there is nothing new. */
  isConclusive(cursor: string | undefined): boolean {
    return this.exact || cursor === this.trail.at(-1)?.message_id;
  }

  /**
   * The message after which to ask; undefined for the whole session. Every other
   * time it stays a little behind the newest: not always, for an answer may be too short to reach what is new from there.
   */
  cursor(now: number): string | undefined {
    this.repeats = false;
    const usable = this.trail.filter(({ message_id }) => !this.refused.has(message_id));
    // A service that refused one old cursor refuses the others too; the newest is the best that is left.
    if (this.exact || this.direct) return usable.at(-1)?.message_id;
    const settled = usable.findLast(({ seenAt }) => seenAt <= now - BEHIND_MS);
    return (settled ?? usable[0])?.message_id;
  }

  /**
   * The service does not accept this cursor.
   * @returns whether another one is left to try
   */
  refuse(cursor: string): boolean {
    this.refused.add(cursor);
    this.exact = true;
    return this.fromStart || this.trail.some(({ message_id }) => !this.refused.has(message_id));
  }

  /** The service refuses more than cursors: what it refused may be good again later. */
  pardon(): void {
    this.refused.clear();
    this.exact = false;
  }

  /**
   * Takes in one answer of the service.
   * @param isFurther whether it is a further page of the answer that was taken in before
   * @returns the messages that were not there before, in order: by their moments where every one has one
   */
  accept(messages: readonly Message[], now: number, isFurther = false): readonly Message[] {
    const entries = messages.map((message, index) => ({ message, index, moment: momentOf(message) }));
    const repeated = this.repeatedIn(messages);
    const isOld = this.oldIn(entries);
    this.first ??= messages[0]?.message_id;
    const fresh: Message[] = [];
    for (const entry of inOrder(entries)) {
      const { message_id } = entry.message;
      if (this.seen.has(message_id) || entry.index < repeated || isOld(entry)) continue;
      this.seen.set(message_id, entry.moment);
      fresh.push(entry.message);
    }
    // Once for a question: the pages of an answer, where they are even in number, would leave it as it was every time.
    if (!isFurther) this.direct = !this.direct;
    this.follow(messages, fresh, now);
    this.forget();
    return fresh;
  }

  /** How many messages at the head of an answer (or of a page of it) only lead from the beginning to what is remembered. */
  private repeatedIn(messages: readonly Message[]): number {
    const { first } = this;
    if (first !== undefined && !this.seen.has(first) && messages.some(({ message_id }) => message_id === first)) {
      this.repeats = true;
    }
    if (!this.repeats) return 0;
    const met = messages.findIndex(({ message_id }) => this.seen.has(message_id));
    this.repeats = met === -1;
    return met === -1 ? messages.length : met;
  }

  /** Tells the messages that were seen so long ago, or lie before the start, that their ids are not remembered. */
  private oldIn(entries: readonly Entry<Message>[]): (entry: Entry<Message>) => boolean {
    const remembered = entries.filter(({ message }) => this.seen.has(message.message_id));
    const start = remembered.filter(({ message }) => this.known.has(message.message_id));
    const last = remembered.at(-1)?.index ?? -1;
    const oldestOfStart = start.flatMap(({ moment }) => moment ?? []).sort(compare)[0];
    const firstOfStart = start[0]?.index ?? -1;
    const lastOfStart = start.at(-1)?.index ?? -1;
    this.isTurned ||= leadsDown(entries);
    this.startMoment ??= oldestOfStart;
    const { isTurned, startMoment } = this;
    return ({ moment, index }) => {
      if (moment === undefined) return index < firstOfStart;
      if (startMoment && isTurned && index > lastOfStart) {
        const distance = compare(moment, startMoment);
        // Of the same moment is older what stands behind the start.
        if (distance < 0 || (distance === 0 && lastOfStart !== -1)) return true;
      }
      if (oldestOfStart && index < firstOfStart && compare(moment, oldestOfStart) <= 0) return true;
      return this.floor !== undefined && index < last && compare(moment, this.floor) < 0;
    };
  }

  private follow(messages: readonly Message[], fresh: readonly Message[], now: number): void {
    const isFresh = new Set(fresh.map(({ message_id }) => message_id));
    const traces = messages.flatMap(({ message_id }) =>
      isFresh.delete(message_id) ? [{ message_id, seenAt: now }] : [],
    );
    const added = isNewestFirst(messages) ? traces.reverse() : traces;
    this.trail = (this.leadsBack(messages) ? [...added, ...this.trail] : [...this.trail, ...added]).slice(-MOST_BEHIND);
    if (fresh.length === 0) return;
    const onTrail = new Set(this.trail.map(({ message_id }) => message_id));
    for (const message_id of this.refused) if (!onTrail.has(message_id)) this.refused.delete(message_id);
  }

  /** Whether an answer goes on towards the beginning, as the pages of a history that begins with the newest do. */
  private leadsBack(messages: readonly Message[]): boolean {
    const [newest] = messages;
    const latest = this.latest.at(-1);
    const reached = latest === undefined ? undefined : this.seen.get(latest);
    const moment = newest && momentOf(newest);
    return isNewestFirst(messages) && moment !== undefined && reached !== undefined && compare(moment, reached) < 0;
  }

  private forget(): void {
    if (this.seen.size <= 2 * REMEMBERED) return;
    for (const message_id of this.seen.keys()) {
      if (this.seen.size <= REMEMBERED) break;
      this.seen.delete(message_id);
    }
    this.floor = [...this.seen.values()].flatMap((moment) => moment ?? []).sort(compare)[0];
  }
}
