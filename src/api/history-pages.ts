import { type EarlierSign, findEarlier } from '../contract/earlier-page.ts';
import type { JsonObject } from '../contract/json.ts';
import {
  formatStrategy,
  isCloseParameter,
  isCounted,
  isLink,
  isStrategy,
  nextStep,
  type PageStep,
  type PagingStrategy,
  proposeSteps,
  sourceValue,
  withType,
} from '../contract/next-page.ts';
import { type Outlook, PageProgress } from '../contract/page-progress.ts';
import { directionOfFlag } from '../contract/page-sign-roles.ts';
import { ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import { type FetchedPage, fetchPage, MAX_EMPTY_PAGES, MAX_PAGES, type PagedList } from './fetch-page.ts';
import type { Http } from './http.ts';
import type { CallOptions } from './http-options.ts';
import { idsOf, itemId, pathOfLink, pathOfStep, rejectedStatus, stepFromZero } from './page-requests.ts';

/** One page of a list that the caller reads page by page. */
export interface Page {
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  /** Whether the next page will be requested when the consumer asks for it. It may have nothing new. */
  readonly hasNext: boolean;
  /** The path and query of a link to it. */
  readonly link: string | undefined;
  /** What announces more than can be requested, if no strategy for requesting it proved itself. */
  readonly unreachable: string | undefined;
  /** What the first page of the whole history says of messages before it. */
  readonly earlier: EarlierSign | undefined;
  /** How the pages up to this one were requested, as a value of the leaf; `none` for the first. */
  readonly strategy: string;
}

/** The parameter of histories that names the message to read after. */
const CURSOR = 'messages.history.after_message_id';

/** How many empty pages in a row are read where no page with messages came after one yet. */
const MAX_UNPROVED_EMPTY_PAGES = 3;
/** How many requests may be spent to find out how the next page is requested. */
const MAX_TRIES = 16;

/** What is known of how a service pages, for as long as a command runs. */
export interface PagingMemory {
  /** Whether no strategy for requesting the next page proved itself. */
  isFutile: boolean;
  /** Whether nothing followed an empty page, although it has a token of the next one: some services always send one. */
  endsEmpty?: boolean;
}

/** A request for a page. */
interface PageRequest {
  readonly options: CallOptions;
  /** Differs from that of any other page. */
  readonly key: string;
}

/**
 * Reads a history page by page: by links, by the strategy that the contract knows, or by one that new items prove, which is
 * remembered (assumption `list.next`). Pages may repeat messages, because new ones shift them.
 */
class HistoryPages {
  private readonly http: Http;
  private readonly list: PagedList;
  private readonly options: () => CallOptions;
  private readonly memory: PagingMemory;
  private readonly progress = new PageProgress();
  private readonly requested = new Set<string>();
  private readonly known = new Set<string>();
  private strategy: PagingStrategy | undefined;
  private isProved = false;
  private used = 'none';
  private lastStep: PageStep | undefined;
  private first: FetchedPage | undefined;

  constructor(http: Http, list: PagedList, options: () => CallOptions, memory: PagingMemory) {
    this.memory = memory;
    this.http = http;
    this.list = list;
    this.options = options;
  }

  async *read(): AsyncGenerator<Page, void, void> {
    let page = await fetchPage(this.http, this.list, this.options());
    this.first = page;
    this.requested.add(page.response.path);
    const next = this.http.contract.next(this.list.operation.leaf);
    this.strategy = isStrategy(next) ? next : undefined;
    for (;;) {
      const { items, response } = page;
      const ids = idsOf(this.http, this.list, page);
      this.progress.add(ids, 0, page.signs);
      for (const id of ids) this.known.add(id);
      this.refuseEndless();
      const outlook = this.outlook(page);
      const link = this.linkOf(page);
      const hasNext = next.kind !== 'none' && (link !== undefined || this.announcesNext(page, outlook));
      const earlier = this.findEarlier(page);
      const shared = { response, earlier, strategy: this.used };
      yield { ...shared, items, hasNext, link: hasNext ? link : undefined, unreachable: undefined };
      if (!hasNext) return;
      const following = await this.advance(page, outlook);
      if (following === undefined) {
        // A possible sign proves nothing, and an empty page may announce where to continue later.
        if (items.length === 0) this.memory.endsEmpty = true;
        if (outlook.certain.length === 0 || items.length === 0 || this.isProved || link !== undefined) return;
        const unreachable = outlook.certain.map((sign) => withType(sign, page.pageResponse)).join(', ');
        yield { ...shared, strategy: this.used, items: [], hasNext: false, link: undefined, unreachable };
        return;
      }
      page = following;
    }
  }

  private refuseEndless(): void {
    const { maxPages = MAX_PAGES, operation } = this.list;
    if (this.progress.pagesRead <= maxPages) return;
    throw new ShapeError(`The history has more than ${maxPages.toLocaleString('en')} pages.`, {
      hint: 'A history of so many pages is most likely endless. Report it to the operator of the service.',
      details: { operation: operation.name, leaf: `${operation.leaf}.next` },
    });
  }

  /** What the page says of more. After a message, a size may be that of the whole history, and older ones were read. */
  private outlook(page: FetchedPage): Outlook {
    const isWhole = this.options().query?.after_message_id === undefined;
    const flags = page.signs.flags.filter(({ words }) => directionOfFlag(words) !== 'older');
    const signs = isWhole ? page.signs : { ...page.signs, totals: [], flags };
    return this.progress.outlook(signs, page.items.length);
  }

  private findEarlier(page: FetchedPage): EarlierSign | undefined {
    const isStart = page === this.first && this.options().query?.after_message_id === undefined;
    const isSet = this.http.contract.leaf(`${this.list.operation.leaf}.next`).source === 'override';
    return isStart && !isSet ? findEarlier(page.pageResponse.body, page.signs) : undefined;
  }

  /** Returns the path and query of the page that a link leads to, unless it leads back. */
  private linkOf(page: FetchedPage): string | undefined {
    const { strategy, http, list } = this;
    const stated = strategy && isLink(strategy) ? sourceValue(strategy, page.pageResponse) : undefined;
    const isSet = strategy !== undefined && !isLink(strategy);
    const link = typeof stated === 'string' && stated !== '' ? stated : isSet ? undefined : page.signs.links[0]?.value;
    const path = link === undefined ? undefined : pathOfLink(http, list.operation, page.response, link);
    return path === undefined || this.requested.has(path) ? undefined : path;
  }

  private strategyOfLink({ signs }: FetchedPage): string {
    if (this.strategy && isLink(this.strategy)) return formatStrategy(this.strategy);
    const path = signs.links[0]?.path ?? 'header.link';
    return formatStrategy(path === 'header.link' ? { kind: 'header' } : { kind: 'link', source: path.split('.') });
  }

  private announcesNext(
    { items, pageResponse, signs }: FetchedPage,
    { certain, possible, isStated }: Outlook,
  ): boolean {
    const { strategy, memory } = this;
    const mostEmpty = this.isProved ? MAX_EMPTY_PAGES : MAX_UNPROVED_EMPTY_PAGES;
    if (items.length === 0 && this.progress.emptyPages > mostEmpty) return false;
    // A filter may be applied after a page was read.
    if (items.length === 0 && strategy === undefined)
      return !memory.endsEmpty && certain.length > 0 && kinSteps(signs).length > 0;
    // Only links that lead back are left here: the page is the last one.
    if (strategy === undefined) return signs.links.length === 0 && certain.length + possible.length > 0;
    if (isLink(strategy)) return false;
    if (isCounted(strategy))
      return items.length > 0 && (certain.length + possible.length > 0 || !(isStated || this.isOwn(strategy)));
    const value = sourceValue(strategy, pageResponse);
    const isLast = signs.flags.length > 0 && signs.flags.every((flag) => !flag.value);
    return value !== undefined && value !== null && value !== '' && value !== false && !isLast;
  }

  /** Returns the next page, or undefined if none has anything new. */
  private async advance(page: FetchedPage, outlook: Outlook): Promise<FetchedPage | undefined> {
    const link = this.linkOf(page);
    if (link !== undefined) {
      this.used = this.strategyOfLink(page);
      return this.fetch({ options: { ...this.options(), link }, key: link });
    }
    if (this.strategy) {
      const zero = this.lastStep ? undefined : stepFromZero(this.http, this.list, this.strategy, page);
      const second = zero && (await this.attempt(zero, page));
      if (second) return second;
      const step = nextStep(this.strategy, this.lastStep, page.signs, page.items.length);
      const followed = await this.attempt(step, page);
      if (followed) return followed;
      const isObserved = this.http.contract.leaf(`${this.list.operation.leaf}.next`).source === 'observed';
      if (this.isProved || !isObserved || outlook.certain.length === 0) return undefined;
      this.strategy = undefined;
    }
    return this.detect(page, outlook.certain.length > 0);
  }

  private async detect(page: FetchedPage, isCertain: boolean): Promise<FetchedPage | undefined> {
    if (this.memory.isFutile) return undefined;
    const own: PageStep = { strategy: { kind: 'after', parameter: this.ownParameter() } };
    const isEmpty = page.items.length === 0;
    const all = [own, ...proposeSteps(page.signs, page.items.length).filter(({ strategy }) => !isLink(strategy))];
    for (const step of (isEmpty ? kinSteps(page.signs) : all).slice(0, MAX_TRIES)) {
      const found = await this.attempt(step, page);
      if (found && (isEmpty || found.items.length > 0)) return found;
    }
    if (!isEmpty) this.memory.isFutile = isCertain;
    return undefined;
  }

  /** Requests a page by one strategy. @returns undefined if it is rejected, was requested before, or has nothing new */
  private async attempt(step: PageStep, page: FetchedPage): Promise<FetchedPage | undefined> {
    const request = this.requestOf(step, page);
    if (request === undefined || this.requested.has(request.key)) return undefined;
    try {
      const found = await this.fetch(request);
      const hasNew = idsOf(this.http, this.list, found).some((id) => !this.known.has(id));
      const isRagged = found.items.length === 0 && step.strategy.kind === 'token';
      if (!hasNew && !(isRagged && (this.isProved || page.items.length === 0))) return undefined;
      this.useStrategy(step, hasNew);
      return found;
    } catch (error) {
      if (rejectedStatus(error) === undefined) throw error;
      return undefined;
    }
  }

  /** Uses a strategy from now on. @param isProof whether it led to new messages */
  private useStrategy(step: PageStep, isProof: boolean): void {
    this.strategy = step.strategy;
    this.used = formatStrategy(step.strategy);
    this.lastStep = step;
    if (this.isProved || !isProof) return;
    this.isProved = true;
    const leaf = `${this.list.operation.leaf}.next` as const;
    const value = formatStrategy(step.strategy);
    if (this.http.contract.leaf(leaf).value !== value) this.http.observe(leaf, value);
  }

  private async fetch({ options, key }: PageRequest): Promise<FetchedPage> {
    this.requested.add(key);
    return fetchPage(this.http, this.list, options);
  }

  private ownParameter(): string {
    const contract = this.options().contract ?? this.http.contract;
    return contract.parameter(CURSOR)?.path.join('.') ?? '';
  }

  private isOwn(strategy: PagingStrategy): boolean {
    return strategy.kind === 'after' && strategy.parameter === this.ownParameter();
  }

  private requestOf(step: PageStep, page: FetchedPage): PageRequest | undefined {
    const { http, list, first = page } = this;
    const options = this.options();
    const { strategy } = step;
    if (this.isOwn(strategy)) {
      const last = page.items.at(-1);
      const id =
        last && strategy.kind === 'after' && strategy.parameter !== '' ? itemId(last, http.contract, list) : undefined;
      if (id === undefined) return undefined;
      return { options: { ...options, query: { ...options.query, after_message_id: id } }, key: `after ${id}` };
    }
    const path = pathOfStep(http, list, step, { page, first });
    if (path === undefined) return undefined;
    const method = (options.contract ?? http.contract).operation(list.operation.leaf)?.method;
    if (method === 'GET' || isLink(strategy)) return { options: { ...options, link: path }, key: path };
    const value = new URL(path, http.baseUrl).searchParams.get(strategy.parameter);
    return { options: { ...options, json: { [strategy.parameter]: value } }, key: path };
  }
}

/** Returns the requests for what an empty page announces with a token, by the parameters that are called as the token. */
function kinSteps(signs: FetchedPage['signs']): readonly PageStep[] {
  const strong = { ...signs, tokens: signs.tokens.filter(({ isWeak }) => !isWeak) };
  return proposeSteps(strong, 0).filter(
    ({ strategy }) => strategy.kind === 'token' && isCloseParameter(strategy, strong),
  );
}

/**
 * Reads a history page by page; each page is requested when the consumer asks for it.
 * @param options called before each page, so that limits can depend on the current time
 * @param memory what earlier readings found out; this one adds to it
 * @throws ShapeError for a list that cannot be read, or a link outside the base URL
 */
export function readHistoryPages(
  http: Http,
  list: PagedList,
  options: () => CallOptions,
  memory: PagingMemory,
): AsyncGenerator<Page, void, void> {
  return new HistoryPages(http, list, options, memory).read();
}
