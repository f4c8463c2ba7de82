import { directionOf, haveTimes, sortOldestFirst } from '../contract/message-order.ts';
import { type Message, readSession, type SessionRef } from '../contract/messages.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { Extent } from '../contract/paging.ts';
import { type NotFoundError, ShapeError } from '../errors.ts';
import type { CallOptions } from './call.ts';
import type { Http } from './http.ts';
import type { PagedList } from './list-end.ts';
import { type Page, readPages } from './pages.ts';

export interface HistoryPosition extends SessionRef {
  /** Undefined to read from the first message. */
  readonly after_message_id: string | undefined;
  /** How many of the newest messages are enough, where they come first. All by default. */
  readonly newest?: number;
}

export type PageLimits = Pick<CallOptions, 'retries' | 'timeoutMs' | 'idleMs' | 'signal'>;

export interface HistoryPage {
  /** Oldest first, as far as their times or ids tell. */
  readonly messages: readonly Message[];
  readonly hasMore: boolean;
  /** Whether the service says that nothing follows. */
  readonly isStatedEnd: boolean;
  /** What announces more messages, whose page cannot be requested; undefined if nothing does. */
  readonly unexplained: string | undefined;
  /** Whether reading after the newest of these messages may bring what is announced. */
  readonly leadsOn: boolean;
  /** Whether the service sent its newest messages first, without saying that these are all. */
  readonly mayHideOlder: boolean;
}

/** A history does not have the message to read after, perhaps not yet. */
export class MissingMessage extends ShapeError {}

const MAX_COMPARED = 1_000;
/** With fewer messages, the newest may be first by accident. */
const MIN_ORDERED = 3;

const CURSOR = 'messages.history.after_message_id';

interface ReadPages {
  messages: Message[];
  pages: number;
  direction: ReturnType<typeof directionOf>;
  last: Omit<Page<Message>, 'items'> | undefined;
}

/** Reads the pages of a history (spec §4.4). @throws PartnerctlError; ShapeError for messages of another session */
export async function* readMessagePages(
  http: Http,
  position: HistoryPosition,
  limits: () => PageLimits,
  recover?: PagedList<Message>['recover'],
): AsyncGenerator<Page<Message>, void, void> {
  const { contract } = http;
  const { source_id, session_id, after_message_id } = position;
  const session = { source_id, session_id };
  const pagesOf = (extent: Extent) =>
    readPages(http, {
      operation: OPERATIONS.readHistory,
      extent,
      options: () => ({ ...limits(), values: { ...session, after_message_id } }),
      read: (entries) => readSession(entries, session, contract),
      idOf: ({ message_id }) => message_id,
      recover,
    });
  if (after_message_id === undefined || contract.parameter(CURSOR) === undefined) return yield* pagesOf('session');
  let isFirst = true;
  for await (const page of pagesOf('rest of a session')) {
    const [first] = page.items;
    // Where the cursor is ignored, the counts are those of the whole session, and lead on.
    if (isFirst && page.hasOpenCounts && first && !(await heedsCursor(http, position, first, limits)))
      return yield* pagesOf('session');
    isFirst = false;
    yield page;
  }
}

/**
 * Reads a history from its oldest message to its newest, and requests each page only when it is needed. Pages that lead
 * from the newest message back are held, and become one: an empty page stands for each of them before. So do those after
 * a message where the service ignores it.
 * @param limits called before each page is requested
 * @param recover called when a further page fails: resolves to request it again, or throws
 * @throws as `readMessagePages`; MissingMessage
 */
export async function* readHistory(
  http: Http,
  position: HistoryPosition,
  limits: () => PageLimits = () => ({}),
  recover?: PagedList<Message>['recover'],
): AsyncGenerator<HistoryPage, void, void> {
  const { after_message_id: after, newest = Number.POSITIVE_INFINITY } = position;
  const read: ReadPages = { messages: [], pages: 0, direction: undefined, last: undefined };
  let isFound = false;
  let isAfterCursor = after === undefined ? true : undefined;
  for await (const { items, ...last } of readMessagePages(http, position, limits, recover)) {
    for (const item of items) read.messages.push(item);
    isFound ||= items.some(({ message_id }) => message_id === after);
    read.pages += 1;
    read.direction ??= directionOf(read.messages.slice(0, MAX_COMPARED));
    read.last = last;
    const isEnough = after === undefined ? read.messages.length >= newest : isFound;
    if (read.direction === 'newest first' && isEnough) break;
    if (last.end !== undefined) continue;
    if (read.direction === 'oldest first')
      isAfterCursor ??= await heedsCursor(http, position, read.messages[0], limits);
    const isReady = read.direction === 'oldest first' && isAfterCursor;
    yield isReady ? takePage(http, read, position) : HELD_PAGE;
  }
  yield { ...takePage(http, read, position), hasMore: false };
}

/** Whether the first message after the cursor is another one than that of the whole session, so that all follow the cursor. */
async function heedsCursor(
  http: Http,
  position: HistoryPosition,
  first: Message | undefined,
  limits: () => PageLimits,
): Promise<boolean> {
  if (http.contract.parameter(CURSOR) === undefined) return false;
  for await (const { items } of readMessagePages(http, { ...position, after_message_id: undefined }, limits)) {
    if (items[0]) return items[0].message_id !== first?.message_id;
  }
  return false;
}

const HELD_PAGE: HistoryPage = {
  messages: [],
  hasMore: true,
  isStatedEnd: false,
  unexplained: undefined,
  leadsOn: false,
  mayHideOlder: false,
};

function takePage(http: Http, read: ReadPages, { after_message_id: after }: HistoryPosition): HistoryPage {
  const { messages, pages, direction, last } = read;
  const { end, more = [], earlier = [] } = last ?? {};
  read.messages = [];
  if (direction === undefined && messages.length > 1 && !haveTimes(messages)) http.warn(UNKNOWN_ORDER);
  const isNewestFirst = direction === 'newest first';
  const wanted = after === undefined ? messages : following(http, messages, after, isNewestFirst);
  const isStatedEnd = end === 'stated' || end === 'added up';
  return {
    messages: sortOldestFirst(wanted, direction),
    hasMore: true,
    isStatedEnd,
    unexplained: [...earlier, ...more].join(', ') || undefined,
    leadsOn: earlier.length === 0 && !isNewestFirst && http.contract.parameter(CURSOR) !== undefined,
    mayHideOlder: isNewestFirst && messages.length >= MIN_ORDERED && pages === 1 && !isStatedEnd,
  };
}

/** Returns what comes after a message. @throws MissingMessage if a whole history does not have it */
function following(
  http: Http,
  messages: readonly Message[],
  after: string,
  isNewestFirst: boolean,
): readonly Message[] {
  const at = messages.findIndex(({ message_id }) => message_id === after);
  if (isNewestFirst && at !== -1) return messages.slice(0, at);
  if (http.contract.parameter(CURSOR) !== undefined) return messages;
  if (at !== -1) return messages.slice(at + 1);
  throw new MissingMessage('The history does not have the message to read after.', {
    hint: `Check the id of the message. If histories can be read from a message on, say how it is named, such as: partnerctl contract set ${CURSOR} query:after`,
    details: { operation: 'readHistory', leaf: CURSOR },
  });
}

const UNKNOWN_ORDER =
  "The order of the messages is not known: neither their times nor their ids tell. To say where the times are, run: partnerctl contract set message.created_at '<path>'";

/** Returns what a 404 says that was not found; undefined if it names neither, as where there is no such path. */
export function missingIn404({ info: { code, why } }: NotFoundError): 'session' | 'source' | undefined {
  const text = `${code ?? ''} ${why ?? ''}`.replace(/\S*\/\S*/g, '');
  if (/session|conversation|thread|message/i.test(text)) return 'session';
  return /source/i.test(text) ? 'source' : undefined;
}
