import type { Message } from '../contract/messages.ts';
import type { HistoryPage } from './history-page.ts';

/** What to take of a history. */
export interface HistoryExtent {
  /** Take only what came after this message. */
  readonly after: string | undefined;
  /** How many of the newest messages are enough. */
  readonly newest: number;
}

/** With fewer messages, a descending order may be an accident. */
const MIN_DESCENDING = 3;

const NUMBERED = /^(\D*)(\d{1,19})$/;

function timeOf({ created_at }: Message): number {
  return created_at === null ? Number.NaN : Date.parse(created_at);
}

/** The number at the end of an id, if both ids are numbered alike: `msg_12` has 12. */
function differenceOfIds(left: Message, right: Message): number {
  const [, start, first] = NUMBERED.exec(left.message_id) ?? [];
  const [, otherStart, second] = NUMBERED.exec(right.message_id) ?? [];
  return start === otherStart ? Number(second) - Number(first) : Number.NaN;
}

/**
 * How the messages are ordered, by their times or else by the numbers of their ids; undefined if all have the same time.
 * Messages with neither count as ascending.
 */
function directionOf(messages: readonly Message[]): 'ascending' | 'descending' | undefined {
  const [first, last] = [messages[0], messages.at(-1)];
  if (first === undefined || last === undefined || first === last) return undefined;
  const byTime = timeOf(last) - timeOf(first);
  const difference = Number.isNaN(byTime) ? differenceOfIds(first, last) : byTime;
  if (difference === 0) return undefined;
  return difference < 0 ? 'descending' : 'ascending';
}

function isNeverAscending(messages: readonly Message[]): boolean {
  return messages.every(
    (message, index) => index === 0 || directionOf([messages[index - 1] ?? message, message]) !== 'ascending',
  );
}

function oldestFirst(pages: readonly HistoryPage[], messages: readonly Message[]): HistoryPage {
  const last = pages.at(-1) ?? EMPTY_PAGE;
  return {
    ...last,
    messages: messages.toReversed(),
    hasMore: false,
    hasNextLink: false,
    reachedByLink: true,
    isDeclaredEnd: true,
    total: undefined,
    earlier: pages[0]?.earlier,
  };
}

/** A history without messages. */
export const EMPTY_PAGE: HistoryPage = {
  messages: [],
  hasMore: false,
  hasNextLink: false,
  reachedByLink: false,
  isDeclaredEnd: false,
  total: undefined,
  totalPath: undefined,
  strategy: 'none',
  unreachable: undefined,
  respondedAt: undefined,
  requestedWaitMs: undefined,
};

/** Leaves out what came up to a message. @returns undefined if the page lacks that message */
function dropUpTo(page: HistoryPage, after: string): HistoryPage | undefined {
  const at = page.messages.findIndex(({ message_id }) => message_id === after);
  return at === -1 ? undefined : { ...page, messages: page.messages.slice(at + 1) };
}

/** Pages that are held because they lead, or may lead, from the newest message to the oldest. */
class HeldPages {
  private readonly extent: HistoryExtent;
  private pages: HistoryPage[] = [];
  private messages: Message[] = [];
  isFound: boolean;

  constructor(extent: HistoryExtent) {
    this.extent = extent;
    this.isFound = extent.after === undefined;
  }

  add(page: HistoryPage): void {
    this.pages.push(page);
    for (const message of page.messages) this.messages.push(message);
  }

  /** Whether the messages lead back far enough. */
  isEnough(): boolean {
    const { after, newest } = this.extent;
    if (directionOf(this.messages) !== 'descending') return false;
    if (after !== undefined) return this.positionOf(after) !== -1;
    return this.messages.length >= Math.max(newest, MIN_DESCENDING) && isNeverAscending(this.messages);
  }

  isAscending(): boolean {
    return directionOf(this.messages) === 'ascending';
  }

  /** The first of several messages whose times and ids do not tell which one is the newest. */
  firstOfTies(): Message | undefined {
    return this.messages.length > 1 && directionOf(this.messages) === undefined ? this.messages[0] : undefined;
  }

  /** Returns what was held, oldest first, and holds it no longer. @param isNewestFirst whether the messages prove to be */
  *take(isNewestFirst = false): Generator<HistoryPage, void, void> {
    const { pages, messages } = this;
    const { after } = this.extent;
    // A page on its own may only be out of order.
    const isPart = pages.length > 1 || pages[0]?.hasMore === true || after !== undefined;
    const leadsBack = isNewestFirst || (isPart && directionOf(messages) === 'descending');
    const at = after === undefined || this.isFound ? messages.length : this.positionOf(after);
    this.pages = [];
    this.messages = [];
    if (leadsBack) {
      this.isFound ||= at !== -1;
      if (at !== -1) yield oldestFirst(pages, messages.slice(0, at));
      return;
    }
    for (const page of pages) {
      const rest = this.isFound || after === undefined ? page : dropUpTo(page, after);
      this.isFound ||= rest !== undefined;
      if (rest) yield rest;
    }
  }

  private positionOf(id: string): number {
    return this.messages.findIndex(({ message_id }) => message_id === id);
  }
}

/**
 * Yields the pages of a history from the oldest message to the newest. Pages that lead from the newest to the oldest are
 * held until enough is read, and become one page; others are yielded at once.
 * @param isNewest tells whether nothing of the history follows its first message; asked where all have the same time
 * @returns whether the message to read after was found
 */
export async function* arrangePages(
  pages: AsyncIterable<HistoryPage>,
  extent: HistoryExtent,
  isNewest: (first: Message) => Promise<boolean>,
): AsyncGenerator<HistoryPage, boolean, void> {
  const held = new HeldPages(extent);
  for await (const page of pages) {
    held.add(page);
    if (held.isEnough()) {
      yield* held.take();
      return true;
    }
    if (held.isAscending()) yield* held.take();
  }
  const first = held.firstOfTies();
  yield* held.take(first !== undefined && (await isNewest(first)));
  return held.isFound;
}
