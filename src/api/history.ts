import type { HistoryDoubt, HistoryVariant } from '../contract/history-variants.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { isLeafName } from '../contract/leaves.ts';
import { keyOfList, readList, readStatedExtent } from '../contract/lists.ts';
import {
  ForeignMessages,
  IgnoredSession,
  messagesOfSession,
  rejectForeignMessages,
  type SessionEvidence,
} from '../contract/message-session.ts';
import { decodeMessages, findHistoryEntries, type Message } from '../contract/messages.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { PartnerctlError } from '../errors.ts';
import { arrangePages } from './history-order.ts';
import { type HistoryPage, startWith, usesCursor } from './history-page.ts';
import { type Page, type PagingMemory, readHistoryPages } from './history-pages.ts';
import type { Http } from './http.ts';
import type { CallOptions } from './http-options.ts';
import { parseDate, requestedWait } from './retry.ts';
import { SessionProof } from './session-proof.ts';
import {
  createNoCursorError,
  doubtOf,
  rethrowUnlessAnswered,
  tryHistoryVariants,
  withOtherMethod,
} from './try-history-variants.ts';

/** Where to start reading in the history of a session. */
export interface HistoryPosition {
  readonly source_id: string;
  readonly session_id: string;
  /** Undefined to read from the first message. */
  readonly after_message_id: string | undefined;
  /** How many of the newest messages are enough, where they come first. All by default. */
  readonly newest?: number;
}

/** How to read a history. */
export interface HistoryOptions {
  /** The current time in milliseconds, for dates in headers. */
  readonly now: () => number;
  /** A history with more pages is endless; `MAX_PAGES` by default. */
  readonly maxPages?: number;
  /** Called before each page is requested. */
  readonly limits: () => Pick<CallOptions, 'retries' | 'timeoutMs' | 'freshConnection' | 'signal'>;
}

/**
 * Reads the histories of one service (spec §4.4, assumptions `history.query` and `history.messages`). If the assumed request
 * fails at first, it tries the common variants, and remembers the one that proved right.
 */
export class HistoryReader {
  private readonly http: Http;
  /** Whether the request, or a variant of it, has proved right: it led to messages. */
  private isProved = false;
  /** What is used in place of the contract's request, because that one failed. */
  private variant: HistoryVariant | undefined;
  /** The variants that led to messages of the session, whether or not they came after the one to read after. */
  private readonly ledToMessages = new Set<HistoryVariant>();
  /** The key that had the list of messages. */
  private listKey: string | undefined;
  private isCursorProved = false;
  /** Whether the service was seen to ignore the message to read after. */
  private ignoresCursor = false;
  private readonly paging: PagingMemory = { isFutile: false };
  private readonly session: SessionProof;
  private readonly tried = new Set<HistoryDoubt>();
  /** Resolves once no trial is running. */
  private trials: Promise<unknown> = Promise.resolve();

  /** @param isStrict whether a service must prove that it heeds the session if its messages do not name theirs */
  constructor(http: Http, { isStrict = false } = {}) {
    this.http = http;
    this.session = new SessionProof(http, isStrict);
  }

  /**
   * Reads a history page by page from its oldest message to its newest, and requests each page only when it is needed. A
   * link back to an earlier page ends the history, because nothing new can follow.
   * @throws PartnerctlError
   */
  async *readAfter(position: HistoryPosition, options: HistoryOptions): AsyncGenerator<HistoryPage, void, void> {
    const used = this.variant;
    const pages = this.readPages(position, options, used);
    let first: IteratorResult<HistoryPage, void>;
    try {
      first = await pages.next();
    } catch (error) {
      if (doubtOf(error) === undefined) throw withOtherMethod(error);
      const other = await this.inTurn(async () => this.variant === used && this.tryVariants(error, position, options));
      // The trial of another session found a variant meanwhile.
      if (other === false) return yield* this.readPages(position, options);
      if ('error' in other) {
        if (!this.session.accepts(other.error)) throw withOtherMethod(other.error);
        return yield* this.readPages(position, options);
      }
      yield other.found.page;
      yield* other.found.pages;
      return;
    }
    if (first.done) return;
    yield first.value;
    yield* pages;
  }

  /** Runs a trial after those of other sessions, which are read at the same time. */
  private async inTurn<Found>(trial: () => Promise<Found>): Promise<Found> {
    const found = this.trials.then(trial);
    this.trials = found.catch(() => undefined);
    return await found;
  }

  private readMessages({ items, response }: Page, position: HistoryPosition) {
    return response.read((_, contract): { evidence: SessionEvidence; messages: readonly Message[] } => {
      const evidence = rejectForeignMessages(items, position, contract);
      return { evidence, messages: decodeMessages(items, contract) };
    });
  }

  /** Remembers the variant once it leads to messages. An empty history proves nothing. */
  private prove(hasMessages: boolean): void {
    if (this.isProved || !hasMessages) return;
    this.isProved = true;
    for (const [leaf, value] of Object.entries(this.variant?.values ?? {})) {
      if (isLeafName(leaf)) this.http.observe(leaf, value);
    }
  }

  /** Tries the variants after a failure, unless the request has proved right before. */
  private async tryVariants(error: unknown, position: HistoryPosition, options: HistoryOptions) {
    const doubt = doubtOf(error);
    if (doubt === undefined || this.isProved || this.tried.has(doubt)) return { error };
    this.tried.add(doubt);
    // An empty history proves a parameter only if the one without it had no message of the session either.
    const foreign = error instanceof PartnerctlError ? error.cause : undefined;
    // The page of a gateway may pass, and then the history is read as before.
    const mayPass = error instanceof PartnerctlError && error.info.fromGateway;
    const mayBeEmpty = !mayPass && !(foreign instanceof ForeignMessages && foreign.hasOwn);
    return tryHistoryVariants(error, this.http.contract, async (variant) => {
      const pages = this.readPages(position, options, variant);
      const first = await pages.next();
      if (first.done) return undefined;
      // Nothing may have come after the message to read after, which itself is one of the session.
      const isIgnored = foreign instanceof IgnoredSession;
      if (isIgnored && first.value.messages.length === 0) await this.readFromStart(variant, position, options);
      // Messages up to the one to read after are a proof, too, although none may follow.
      const hasMessages = first.value.messages.length > 0 || this.ledToMessages.has(variant);
      if (!hasMessages && !(mayBeEmpty && (await this.isRefusedFromStart(variant, position, options))))
        return undefined;
      this.variant = variant;
      this.prove(hasMessages);
      return { page: first.value, pages };
    });
  }

  /**
   * Whether the contract's request fails without a message to read after, too. Otherwise it is that message that the
   * service refused, and the history that a variant found to be empty may be another one.
   */
  private async isRefusedFromStart(
    variant: HistoryVariant,
    position: HistoryPosition,
    options: HistoryOptions,
  ): Promise<boolean> {
    const isOfCursorOnly = Object.keys(variant.values).every((leaf) => leaf === 'messages.history.after_message_id');
    if (position.after_message_id === undefined || isOfCursorOnly) return true;
    return (await this.readFromStart(undefined, position, options)) === undefined;
  }

  /** The first page of the whole history; undefined if the service does not answer with one. */
  private async readFromStart(variant: HistoryVariant | undefined, position: HistoryPosition, options: HistoryOptions) {
    const pages = this.requestPages({ ...position, after_message_id: undefined }, options, variant);
    return await pages.next().catch(rethrowUnlessAnswered);
  }

  /** Reads a history from its oldest message to its newest. */
  private async *readPages(
    position: HistoryPosition,
    options: HistoryOptions,
    variant = this.variant,
  ): AsyncGenerator<HistoryPage, void, void> {
    const { after_message_id: after, newest = Number.POSITIVE_INFINITY } = position;
    const isNewest = (first: Message) => this.isNewest(first, position, options, variant);
    if (after === undefined || !this.ignoresCursor) {
      const pages = this.requestPages(position, options, variant);
      const first = await pages.next();
      if (first.done) return;
      const isHeeded = after === undefined || (await this.heedsCursor(first.value, position, options, variant));
      if (isHeeded) {
        const extent = { after: undefined, newest: after === undefined ? newest : Number.POSITIVE_INFINITY };
        yield* arrangePages(startWith(first.value, pages), extent, isNewest);
        return;
      }
      this.ignoresCursor = true;
    }
    const whole = this.requestPages({ ...position, after_message_id: undefined }, options, variant);
    const isFound = yield* arrangePages(whole, { after, newest }, isNewest);
    if (!isFound) throw createNoCursorError();
  }

  /** Whether nothing follows the first message of a history, so that the history begins with its newest. */
  private async isNewest(
    { message_id }: Message,
    position: HistoryPosition,
    options: HistoryOptions,
    variant: HistoryVariant | undefined,
  ): Promise<boolean> {
    if (this.ignoresCursor) return false;
    const after = { ...position, after_message_id: message_id };
    const page = await this.requestPages(after, options, variant).next().catch(rethrowUnlessAnswered);
    if (page === undefined || page.done) return false;
    return page.value.messages.every((message) => message.message_id === message_id);
  }

  /**
   * Makes sure that a service that has more than one page heeds the message to read after: otherwise, the start of the
   * history would pass for what came after that message.
   */
  private async heedsCursor(
    page: HistoryPage,
    position: HistoryPosition,
    options: HistoryOptions,
    variant: HistoryVariant | undefined,
  ): Promise<boolean> {
    const { messages, hasMore, total = 0, unreachable } = page;
    const hasRest = hasMore || unreachable !== undefined || total > messages.length;
    // A page of one message may be repeated because the cursor includes its message.
    if (this.isCursorProved || !hasRest || messages.length < 2) return true;
    const known = new Set(messages.map(({ message_id }) => message_id));
    // Newest first, the first message is the one that nothing follows.
    for (const message of [messages.at(-1), messages[0]]) {
      const after = { ...position, after_message_id: message?.message_id };
      const other = await this.requestPages(after, options, variant).next();
      const ids = other.done ? [] : other.value.messages.map(({ message_id }) => message_id);
      // New messages may have come since, so that only a page without the earlier ones is a proof.
      const isInclusive = ids[0] === message?.message_id;
      this.isCursorProved = ids.slice(isInclusive ? 1 : 0).every((id) => !known.has(id));
      if (this.isCursorProved) return true;
    }
    return false;
  }

  /** Whether a history that was read before is empty now: some services leave out empty lists. */
  private isEmptied(body: unknown): boolean {
    if (!isJsonObject(body)) return false;
    const list = this.listKey === undefined ? undefined : body[this.listKey];
    return Object.keys(body).length === 0 || (Array.isArray(list) && list.length === 0);
  }

  /** Requests a history page by page, in the order of the service. */
  private async *requestPages(
    position: HistoryPosition,
    { now, limits, maxPages }: HistoryOptions,
    variant: HistoryVariant | undefined,
  ): AsyncGenerator<HistoryPage, void, void> {
    const { source_id, session_id, after_message_id } = position;
    const query = { source_id, session_id, after_message_id };
    const contract = variant?.contract;
    const items = this.http.contract.items('messages.history');
    const readItems = (body: unknown): readonly JsonObject[] => {
      if (this.isProved && this.isEmptied(body)) return [];
      const entries = items ? readList(body, 'messages', items) : findHistoryEntries(body);
      if (entries.length > 0) this.listKey = keyOfList(body, entries.length);
      return entries;
    };
    const isSet = this.http.contract.leaf('messages.history.next').source === 'override';
    const isKnown = () => this.isProved || after_message_id !== undefined;
    const list = { operation: OPERATIONS.readHistory, resource: 'messages', readItems, isKnown, maxPages };
    const options = () => ({ ...limits(), query, contract });
    let first: readonly JsonObject[] = [];
    let reachedByLink = false;
    for await (const page of readHistoryPages(this.http, list, options, this.paging)) {
      const { messages, evidence } = this.readMessages(page, position);
      if (first.length === 0) first = page.items;
      await this.session.require({ response: page.response, first, list, options: options(), evidence });
      if (variant && messages.length > 0) this.ledToMessages.add(variant);
      if (variant === this.variant) this.prove(messages.length > 0);
      const { hasNext, link, unreachable, earlier, response, strategy } = page;
      this.isCursorProved ||= usesCursor(link, messages, contract ?? this.http.contract);
      const { headers } = response;
      const { ends, total, totalPath } = readStatedExtent(response.json());
      const own = response.read((_, used) => messagesOfSession(messages, position, used));
      yield {
        messages: own,
        hasMore: hasNext,
        hasNextLink: link !== undefined,
        reachedByLink,
        isDeclaredEnd: ends && !hasNext && unreachable === undefined,
        // Where the user set how pages are requested, that decides where the history ends.
        total: isSet || total === undefined ? undefined : total - (messages.length - own.length),
        totalPath,
        strategy,
        unreachable,
        earlier,
        respondedAt: parseDate(headers.date),
        requestedWaitMs: requestedWait(headers, now()),
      };
      reachedByLink = true;
    }
  }
}
