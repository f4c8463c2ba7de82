import type { HistoryPage } from '../api/chat.ts';
import { isNewestFirst } from './tail.ts';

/** What tells that messages are missing, or may be. */
export interface Gap {
  readonly seen: string;
  /** Whether the service says itself that there is more than came. */
  readonly isCertain: boolean;
}

/** After a cursor a handful of messages is the usual thing; so many may be all that a page takes. */
const LEAST_PAGE = 10;

/**
 * Whether what was read can be the whole. A history that begins with the newest message and has no way on can hide what
 * is older: nothing can be asked for before a message.
 */
export class Extent {
  private readonly wanted: number;
  private read = 0;
  private total: number | undefined;
  private beginning: number | undefined;
  private burst: number | undefined;
  /** How many messages the last page brought, where it began with the newest and spoke of more without a link. */
  private promised: number | undefined;
  private hidden: number | undefined;
  private wasSaid = false;

  /** @param wanted how many of the last messages are asked for; without end for all */
  constructor(wanted: number) {
    this.wanted = wanted;
  }

  /** Takes in a page and how many messages of it are new; `isBeginning` where it is of the first reading, without a cursor. */
  came(page: HistoryPage, { isBeginning, fresh }: { readonly isBeginning: boolean; readonly fresh: number }): void {
    const { messages, hasMore: more, hasNextLink: linked, reachedByLink: byLink, isDeclaredEnd: ends, total } = page;
    this.read += fresh;
    // More than the newest is older, and what is asked for after the last of them is not.
    if (fresh === 0) this.hidden ??= this.promised;
    const isWanted = !isBeginning || messages.length < this.wanted;
    const isPromise = isWanted && more && !linked && fresh === messages.length && isNewestFirst(messages);
    this.promised = isPromise ? messages.length : undefined;
    if (isBeginning && total !== undefined) this.total ??= total;
    const isDoubtful = !more && !byLink && !ends && isNewestFirst(messages) && total !== messages.length;
    if (!isDoubtful || fresh < messages.length) return;
    if (isBeginning) this.beginning = messages.length;
    else if (messages.length >= LEAST_PAGE) this.burst = messages.length;
  }

  /** What is to be said of it now, once; to be asked when all that came has been read. */
  gap(): Gap | undefined {
    const found = this.wasSaid ? undefined : this.find();
    this.total = undefined;
    this.beginning = undefined;
    this.burst = undefined;
    this.hidden = undefined;
    if (found) this.wasSaid = true;
    return found;
  }

  private find(): Gap | undefined {
    const { read, total, beginning, burst, hidden, wanted } = this;
    if (beginning !== undefined && beginning >= wanted) return undefined;
    if (total !== undefined && total > read) {
      return { seen: `the service states ${total} messages, and ${read} came`, isCertain: true };
    }
    if (hidden !== undefined) {
      return { seen: `the service has more than the ${hidden} newest messages, and no way to them`, isCertain: true };
    }
    const count = beginning ?? burst;
    if (count === undefined) return undefined;
    return {
      seen: `${count} messages came, the newest first, with no link to older ones and no word that these are all`,
      isCertain: false,
    };
  }
}
