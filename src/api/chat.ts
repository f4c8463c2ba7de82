import { type ChatSource, readChatSource } from '../contract/chat-source.ts';
import { readStatedExtent } from '../contract/lists.ts';
import {
  type Acknowledgement,
  type Message,
  readAcknowledgement,
  readHistoryEntries,
  readMessage,
} from '../contract/messages.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { CallOptions, Http } from './http.ts';
import { listPages } from './pages.ts';
import { parseRetryAfter } from './retry.ts';

/** What a source is set up with (spec §4.2); what is left out is the service's to choose. */
export interface ChatSourceFields {
  readonly name?: string;
  readonly reply_capable?: boolean;
  readonly routing_mode?: 'agent_inbox' | 'session_workflow';
}

/** Creates the agent's API chat source, or finds the one it has (spec §4.2). */
export async function setUpChatSource(
  http: Http,
  spaceId: string,
  agentId: string,
  fields: ChatSourceFields,
): Promise<ChatSource> {
  const parameters = { space_id: spaceId, agent_id: agentId };
  const answer = await http.call(OPERATIONS.createChatSource, { parameters, json: fields });
  const source = answer.read(readChatSource);
  // 201 is what HTTP says for something new; an explicit word of the service wins.
  return { ...source, created: source.created ?? (answer.status === 201 ? true : undefined) };
}

/** A message to be registered (spec §4.3). The text is sent as it is. */
export interface NewMessage {
  readonly source_id: string;
  readonly session_id: string;
  readonly text: string;
  /** Stays the same whenever the message is sent again, so that it is registered once. */
  readonly external_message_id: string;
}

export interface SentMessage extends Acknowledgement {
  /** Whether more than one attempt was made: then `created: false` may speak of an earlier one of this very call. */
  readonly wasRetried: boolean;
}

/** Registers a message; the reply comes later, in the history (spec §4.3). */
export async function sendMessage(http: Http, message: NewMessage): Promise<SentMessage> {
  const { source_id, session_id, text, external_message_id } = message;
  const json = { source_id, session_id, text, external_message_id, response_mode: 'accepted' };
  const answer = await http.call(OPERATIONS.registerMessage, { json });
  const acknowledgement = answer.read(readAcknowledgement);
  return {
    ...acknowledgement,
    created: acknowledgement.created ?? (answer.status === 201 ? true : undefined),
    wasRetried: answer.attempts > 1,
  };
}

/** Where in which conversation to read on. */
export interface HistoryPosition {
  readonly source_id: string;
  readonly session_id: string;
  /** The message after which to read; undefined for the session's beginning. */
  readonly after_message_id: string | undefined;
}

/** One answer of the history. */
export interface HistoryPage {
  /** In the order in which they came. */
  readonly messages: readonly Message[];
  /** Whether the history goes on, as far as the service says. */
  readonly hasMore: boolean;
  /** Whether a link leads on. */
  readonly hasNextLink: boolean;
  /** Whether it was a link that led here, and no cursor. */
  readonly reachedByLink: boolean;
  /** Whether the service says itself that nothing follows. */
  readonly isDeclaredEnd: boolean;
  /** How many messages there are in all, where the service says so. */
  readonly total: number | undefined;
  /** When the service answered, by its own clock, in milliseconds since the epoch. */
  readonly respondedAt: number | undefined;
  /** Milliseconds that the service asks to wait before the next poll. */
  readonly requestedWaitMs: number | undefined;
}

function momentOf(date: string | undefined): number | undefined {
  const moment = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(moment) ? undefined : moment;
}

function askedWait(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const waits = [headers['retry-after'], headers['x-poll-interval']].flatMap(
    (header) => parseRetryAfter(header, headers.date, now) ?? [],
  );
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/**
 * The history after a place, page by page, the next one asked when it is pulled (spec §4.4, assumptions `history.query`
 * and `history.messages`). Where the service tells of more without a link, the last message is the next cursor; a link
 * back to a page that was there is an end, for there is nothing new behind it.
 * @param now the current moment in milliseconds, for dates in headers
 * @param limits asked before every page
 */
export async function* readHistoryAfter(
  http: Http,
  place: HistoryPosition,
  now: () => number,
  limits: () => Pick<CallOptions, 'retries' | 'timeoutMs' | 'freshConnection' | 'signal'> = () => ({}),
): AsyncGenerator<HistoryPage, void, void> {
  const { source_id, session_id } = place;
  for (let cursor = place.after_message_id; ; ) {
    const query = { source_id, session_id, after_message_id: cursor };
    let further: string | undefined;
    let byLink = false;
    const options = (): CallOptions => ({ ...limits(), query });
    for await (const page of listPages(http, OPERATIONS.readHistory, 'messages', options, readHistoryEntries)) {
      const messages = page.response.read(() => page.items.map(readMessage));
      const last = messages.at(-1)?.message_id;
      further = page.unfollowableKey !== undefined && last !== cursor ? last : undefined;
      const { headers } = page.response;
      const { ends, total } = readStatedExtent(page.response.json(), 'messages');
      yield {
        messages,
        hasMore: page.hasNext || further !== undefined,
        hasNextLink: page.hasNext,
        reachedByLink: byLink,
        isDeclaredEnd: ends && !page.hasNext && page.unfollowableKey === undefined,
        total,
        respondedAt: momentOf(headers.date),
        requestedWaitMs: askedWait(headers, now()),
      };
      byLink = true;
    }
    if (further === undefined) return;
    cursor = further;
  }
}
