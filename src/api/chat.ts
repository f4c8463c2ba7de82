import { type ChatSource, decodeChatSource } from '../contract/chat-source.ts';
import { readStatedExtent } from '../contract/lists.ts';
import {
  type Acknowledgement,
  decodeAcknowledgement,
  decodeMessage,
  findHistoryEntries,
  type Message,
  rejectForeignMessage,
} from '../contract/messages.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { CallOptions, Http } from './http.ts';
import { listPages } from './pages.ts';
import { parseRetryAfter } from './retry.ts';

/** The fields of a source (spec §4.2). The service picks a default for each omitted field. */
export interface ChatSourceFields {
  readonly name?: string;
  readonly reply_capable?: boolean;
  readonly routing_mode?: 'agent_inbox' | 'session_workflow';
}

/** Creates the agent's API chat source, or returns the existing one (spec §4.2). */
export async function setUpChatSource(
  http: Http,
  spaceId: string,
  agentId: string,
  fields: ChatSourceFields,
): Promise<ChatSource> {
  const parameters = { space_id: spaceId, agent_id: agentId };
  const response = await http.call(OPERATIONS.createChatSource, { parameters, json: fields });
  const source = response.read(decodeChatSource);
  // If the body has no `created`, a 201 means that the source is new.
  return { ...source, created: source.created ?? (response.status === 201 ? true : undefined) };
}

/** A message to register (spec §4.3). The text is sent unchanged. */
export interface NewMessage {
  readonly source_id: string;
  readonly session_id: string;
  readonly text: string;
  /** The service registers only one message per id. */
  readonly external_message_id: string;
}

export interface SentMessage extends Acknowledgement {
  /** Whether the call took several attempts. If so, `created: false` may mean that an earlier attempt succeeded. */
  readonly wasRetried: boolean;
}

/** Registers a message; the reply appears later in the history (spec §4.3). */
export async function postMessage(http: Http, message: NewMessage): Promise<SentMessage> {
  const { source_id, session_id, text, external_message_id } = message;
  const json = { source_id, session_id, text, external_message_id, response_mode: 'accepted' };
  const response = await http.call(OPERATIONS.registerMessage, { json });
  const acknowledgement = response.read(decodeAcknowledgement);
  return {
    ...acknowledgement,
    created: acknowledgement.created ?? (response.status === 201 ? true : undefined),
    wasRetried: response.attempts > 1,
  };
}

/** Where to start reading in the history of a session. */
export interface HistoryPosition {
  readonly source_id: string;
  readonly session_id: string;
  /** Undefined to read from the first message. */
  readonly after_message_id: string | undefined;
}

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
  /** The time of the response by the service's clock, in milliseconds since the epoch. */
  readonly respondedAt: number | undefined;
  /** The delay before the next poll that the service requests, in milliseconds. */
  readonly requestedWaitMs: number | undefined;
}

function parseDate(date: string | undefined): number | undefined {
  const ms = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(ms) ? undefined : ms;
}

function requestedWait(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const waits = [headers['retry-after'], headers['x-poll-interval']].flatMap(
    (header) => parseRetryAfter(header, headers.date, now) ?? [],
  );
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/**
 * Reads the history page by page and requests each page only when the caller asks for it (spec §4.4, assumptions
 * `history.query` and `history.messages`). If the service announces another page without a link, the id of the last
 * message is the next cursor. A link back to an earlier page ends the history, because nothing new can follow.
 * @param now the current time in milliseconds, for dates in headers
 * @param limits called before each page is requested
 */
export async function* readHistoryAfter(
  http: Http,
  position: HistoryPosition,
  now: () => number,
  limits: () => Pick<CallOptions, 'retries' | 'timeoutMs' | 'freshConnection' | 'signal'> = () => ({}),
): AsyncGenerator<HistoryPage, void, void> {
  const { source_id, session_id } = position;
  for (let cursor = position.after_message_id; ; ) {
    const query = { source_id, session_id, after_message_id: cursor };
    let nextCursor: string | undefined;
    let reachedByLink = false;
    const list = { operation: OPERATIONS.readHistory, resource: 'messages', readItems: findHistoryEntries };
    for await (const page of listPages(http, list, () => ({ ...limits(), query }))) {
      const messages = page.response.read((_, contract) =>
        page.items.map((item) => {
          rejectForeignMessage(item, position, contract);
          return decodeMessage(item, contract);
        }),
      );
      const last = messages.at(-1)?.message_id;
      nextCursor = page.unfollowableKey !== undefined && last !== cursor ? last : undefined;
      const { headers } = page.response;
      const { ends, total } = readStatedExtent(page.response.json());
      yield {
        messages,
        hasMore: page.hasNext || nextCursor !== undefined,
        hasNextLink: page.hasNext,
        reachedByLink,
        isDeclaredEnd: ends && !page.hasNext && page.unfollowableKey === undefined,
        total,
        respondedAt: parseDate(headers.date),
        requestedWaitMs: requestedWait(headers, now()),
      };
      reachedByLink = true;
    }
    if (nextCursor === undefined) return;
    cursor = nextCursor;
  }
}
