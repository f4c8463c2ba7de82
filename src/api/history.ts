import { randomUUID } from 'node:crypto';
import { Fields } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { directionOf, sortOldestFirst } from '../contract/message-order.ts';
import { entriesOfSession, type Message, readMessage, type SessionRef, sessionIgnored } from '../contract/messages.ts';
import { OPERATIONS } from '../contract/operations.ts';
import {
  ErrorInSuccessBody,
  InterruptedError,
  NotFoundError,
  PartnerctlError,
  RefusedError,
  ShapeError,
} from '../errors.ts';
import type { CallOptions } from './call.ts';
import type { Http } from './http.ts';
import { itemError } from './list.ts';
import { type Page, readPages } from './pages.ts';

/** Where to start reading in the history of a session. */
export interface HistoryPosition extends SessionRef {
  /** Undefined to read from the first message. */
  readonly after_message_id: string | undefined;
  /** How many of the newest messages are enough, where they come first. All by default. */
  readonly newest?: number;
}

type PageLimits = Pick<CallOptions, 'retries' | 'timeoutMs' | 'signal'>;

export interface HistoryPage {
  /** Oldest first, as far as their times or ids tell. */
  readonly messages: readonly Message[];
  readonly hasMore: boolean;
  /** What announces more messages, whose page cannot be requested; undefined if nothing does. */
  readonly unexplained: string | undefined;
  /** Whether reading after the newest of these messages may bring what is announced. */
  readonly leadsOn: boolean;
  /** Whether the service sent its newest messages first, without saying that these are all. */
  readonly mayHideOlder: boolean;
}

/** How many messages tell in which direction a history leads. */
const MAX_COMPARED = 1_000;
/** With fewer messages, the newest may be first by accident. */
const MIN_ORDERED = 3;

const CURSOR = 'messages.history.after_message_id';
const SESSION = 'messages.history.session_id';

/** What was read of a history, and not yet yielded. */
interface ReadPages {
  messages: Message[];
  pages: number;
  direction: ReturnType<typeof directionOf>;
  last: Omit<Page<Message>, 'items'> | undefined;
}

/**
 * Reads a history (spec §4.4) from its oldest message to its newest, and requests each page only when it is needed. Pages
 * that lead from the newest message back are held, and become one. So do those after a message, which the service may
 * ignore.
 * @param limits called before each page is requested
 * @throws PartnerctlError; ShapeError for messages of another session
 */
export async function* readHistory(
  http: Http,
  position: HistoryPosition,
  limits: () => PageLimits = () => ({}),
): AsyncGenerator<HistoryPage, void, void> {
  const { source_id, session_id, after_message_id: after, newest = Number.POSITIVE_INFINITY } = position;
  const read: ReadPages = { messages: [], pages: 0, direction: undefined, last: undefined };
  let isFound = false;
  let hasUnnamed = false;
  const { contract } = http;
  const pages = readPages(http, {
    operation: OPERATIONS.readHistory,
    extent: after !== undefined && contract.parameter(CURSOR) !== undefined ? 'rest of a session' : 'session',
    options: () => ({ ...limits(), values: { source_id, session_id, after_message_id: after } }),
    read: (sent) => {
      const { entries, ...found } = entriesOfSession(sent, position, contract);
      hasUnnamed ||= found.hasUnnamed;
      return entries.map((entry) => readMessage(entry, contract));
    },
    idOf: ({ message_id }) => message_id,
  });
  for await (const { items, ...last } of pages) {
    if (hasUnnamed && items.length > 0) await checkSession(http, source_id, items, limits());
    for (const item of items) read.messages.push(item);
    isFound ||= items.some(({ message_id }) => message_id === after);
    read.pages += 1;
    read.direction ??= directionOf(read.messages.slice(0, MAX_COMPARED));
    read.last = last;
    const isEnough = after === undefined ? read.messages.length >= newest : isFound;
    if (read.direction === 'newest first' && isEnough) break;
    const isHeld = after !== undefined || read.direction !== 'oldest first';
    if (last.end === undefined && !isHeld) yield takePage(http, read, position);
  }
  yield { ...takePage(http, read, position), hasMore: false };
}

function takePage(http: Http, read: ReadPages, { after_message_id: after }: HistoryPosition): HistoryPage {
  const { messages, pages, direction, last } = read;
  const { end, more = [], earlier = [] } = last ?? {};
  read.messages = [];
  if (direction === undefined && messages.length > 1) http.warn(UNKNOWN_ORDER);
  const isNewestFirst = direction === 'newest first';
  const isDeclaredEnd = end === 'stated' || end === 'added up';
  return {
    messages: sortOldestFirst(after === undefined ? messages : following(http, messages, after, isNewestFirst)),
    hasMore: true,
    unexplained: [...earlier, ...more].join(', ') || undefined,
    leadsOn: earlier.length === 0 && !isNewestFirst && http.contract.parameter(CURSOR) !== undefined,
    mayHideOlder: isNewestFirst && messages.length >= MIN_ORDERED && pages === 1 && !isDeclaredEnd,
  };
}

/**
 * Returns what comes after a message. A service that heeds it may repeat messages around it, which the caller knows.
 * @throws ShapeError if the service has only whole histories, and this one does not have the message
 */
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
  throw new ShapeError('The history does not have the message to read after.', {
    hint: `Check the id of the message. If histories can be read from a message on, say how it is named, such as: partnerctl contract set ${CURSOR} query:after`,
    details: { operation: 'readHistory', leaf: CURSOR },
  });
}

const UNKNOWN_ORDER =
  "The order of the messages is not known: neither their times nor their ids tell. To say where the times are, run: partnerctl contract set message.created_at '<path>'";

/** How many pages of a session are searched for a message. */
const MAX_SEARCHED_PAGES = 20;

/** Whether the history of a session shows a message; true if it is too long to tell, or fails: then nothing is known to be wrong. */
export async function showsMessage(http: Http, ref: SessionRef, message_id: string): Promise<boolean> {
  let pages = 0;
  try {
    for await (const { messages } of readHistory(http, { ...ref, after_message_id: undefined })) {
      pages += 1;
      if (pages > MAX_SEARCHED_PAGES || messages.some((message) => message.message_id === message_id)) return true;
    }
    return false;
  } catch (error) {
    if (error instanceof PartnerctlError && !(error instanceof InterruptedError)) return true;
    throw error;
  }
}

/** Returns what a 404 says that was not found; undefined if it names neither, as where there is no such path. */
export function missingIn404({ info: { code, why } }: NotFoundError): 'session' | 'source' | undefined {
  const text = `${code ?? ''} ${why ?? ''}`.replace(/\S*\/\S*/g, '');
  if (/session|conversation|thread|message/i.test(text)) return 'session';
  return /source/i.test(text) ? 'source' : undefined;
}

/** A service may greet in each session. */
const MAX_GREETINGS = 1;

/** Requests the history of a session that does not exist. @returns the ids of its messages @throws as a failed read */
async function readOfNoSession(http: Http, source_id: string, limits: PageLimits): Promise<ReadonlySet<string>> {
  const values = { source_id, session_id: `partnerctl-check-${randomUUID()}`, after_message_id: undefined };
  const idOf = (entry: JsonObject) => new Fields(entry, 'message', http.contract).readId('message.id');
  const options = () => ({ ...limits, values });
  const list = {
    operation: OPERATIONS.readHistory,
    extent: 'session',
    options,
    read: (items: readonly JsonObject[]) => items.map(idOf),
  } as const;
  try {
    const ids = new Set<string>();
    for await (const { items } of readPages(http, { ...list, idOf: (id) => id })) {
      for (const id of items) ids.add(id);
      if (ids.size > MAX_GREETINGS) break;
    }
    return ids;
  } catch (error) {
    // Such a session may be refused. A gateway, or a service that fails, does not answer the question.
    const isRefused = [NotFoundError, RefusedError, ErrorInSuccessBody].some((each) => error instanceof each);
    if (isRefused && error instanceof PartnerctlError && !error.info.fromGateway) return new Set();
    throw error;
  }
}

/** Asks once for each source: a failure is not kept. @throws as `readOfNoSession` */
async function askNoSession(http: Http, source_id: string, limits: PageLimits): Promise<ReadonlySet<string>> {
  const asked = http.ofNoSession.get(source_id) ?? readOfNoSession(http, source_id, limits);
  http.ofNoSession.set(source_id, asked);
  try {
    return await asked;
  } catch (error) {
    http.ofNoSession.delete(source_id);
    throw error;
  }
}

/**
 * Makes sure that the messages of a session are not those of every session, where they do not name theirs: asks each source
 * once for a session that does not exist (spec §4.4 leaves the names of the parameters open).
 * @throws ShapeError if the source has messages for it, too; as a failed read if it does not answer
 */
async function checkSession(
  http: Http,
  source_id: string,
  messages: readonly Message[],
  limits: PageLimits,
): Promise<void> {
  const ids = await askNoSession(http, source_id, limits);
  if (ids.size > MAX_GREETINGS || messages.some(({ message_id }) => ids.has(message_id)))
    throw itemError(sessionIgnored(), OPERATIONS.readHistory);
}

/** Whether the history of a session depends on the session; unknown if the request fails, or the contract says that it does not. */
export type SessionProbe = 'heeded' | 'ignored' | 'unknown';

/** Asks a source for a session that does not exist. @throws InterruptedError */
export async function probeSession(http: Http, source_id: string): Promise<SessionProbe> {
  if (http.contract.parameter(SESSION) === undefined) return 'unknown';
  try {
    const ids = await askNoSession(http, source_id, { retries: 0, timeoutMs: 5_000 });
    return ids.size > MAX_GREETINGS ? 'ignored' : 'heeded';
  } catch (error) {
    if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
    return 'unknown';
  }
}
