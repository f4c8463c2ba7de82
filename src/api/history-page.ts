import type { Contract } from '../contract/contract.ts';
import type { EarlierSign } from '../contract/earlier-page.ts';
import type { Message } from '../contract/messages.ts';

/** One page of the history. */
export interface HistoryPage {
  /** In the order of the response. */
  readonly messages: readonly Message[];
  /** Whether further pages follow. */
  readonly hasMore: boolean;
  /** Whether the page links to the next one. */
  readonly hasNextLink: boolean;
  /** Whether this page was reached by a link rather than by a cursor. */
  readonly reachedByLink: boolean;
  /** Whether the service explicitly marks this page as the last one. */
  readonly isDeclaredEnd: boolean;
  /** The total number of messages, if the service reports it. */
  readonly total: number | undefined;
  /** Where the total is in the response. */
  readonly totalPath: string | undefined;
  /** How the pages were requested, as a value of the leaf `messages.history.next`. */
  readonly strategy: string;
  /** What announces more messages than can be requested; undefined if nothing does. */
  readonly unreachable: string | undefined;
  /** What says that messages come before the first ones of the history that the service sent. */
  readonly earlier?: EarlierSign | undefined;
  /** The time of the response by the service's clock, in milliseconds since the epoch. */
  readonly respondedAt: number | undefined;
  /** The delay before the next poll that the service requests, in milliseconds. */
  readonly requestedWaitMs: number | undefined;
}

/** Whether the service continues after the last message of a page by the parameter that names the message. */
export function usesCursor(link: string | undefined, messages: readonly Message[], contract: Contract): boolean {
  const parameter = contract.parameter('messages.history.after_message_id')?.path.join('.') ?? '';
  const next = contract.next('messages.history');
  if (next.kind === 'after' && next.parameter === parameter) return true;
  const query = new URLSearchParams(link?.split('?')[1]);
  return messages.length > 0 && query.get(parameter) === messages.at(-1)?.message_id;
}

/** Puts an item before others. */
export async function* startWith<Item>(first: Item, rest: AsyncIterable<Item>): AsyncGenerator<Item, void, void> {
  yield first;
  yield* rest;
}
