import type { JsonObject } from '../contract/json.ts';
import {
  formatStrategy,
  isCloseParameter,
  isCounted,
  isLink,
  isOnlySign,
  isStrategy,
  nextStep,
  type PageStep,
  type PagingStrategy,
  proposeSteps,
  saysEnd,
  sourceValue,
  withType,
} from '../contract/next-page.ts';
import { fingerprint, type Outlook, PageProgress } from '../contract/page-progress.ts';
import { ShapeError } from '../errors.ts';
import { type FetchedPage, fetchPage, MAX_EMPTY_PAGES, MAX_PAGES, type PagedList } from './fetch-page.ts';
import type { Http } from './http.ts';
import type { CallOptions } from './http-options.ts';
import { type IncompleteList, incompleteListError } from './incomplete-list.ts';
import { idsOf, pathOfStep, rejectedStatus, stepFromZero } from './page-requests.ts';

/** How many requests may be spent to find out how the next page is requested. */
const MAX_TRIES = 24;

const CIRCLE = 'The pages of the list form a circle.';
const UNREAD = 'The list ends although the service announces more.';
const WRONG_TOTAL = 'The service states another number of items than it sent.';
const LINK_REPEATS = 'The next link of the list leads to items of an earlier page.';
const RETRY_HINT = 'The list may have changed while it was read: run the command again.';

/** A page, what identifies its items, and how many at its start were read before. */
interface NextPage extends FetchedPage {
  readonly ids: readonly string[];
  readonly repeated: number;
}

/** The result of requesting the next page by one strategy. `unproved`: the strategy may be wrong, for the reason `why`. */
type FollowResult =
  | { readonly kind: 'page'; readonly page: NextPage }
  | { readonly kind: 'end' }
  | { readonly kind: 'unproved'; readonly why: string; readonly isRejected?: boolean };

const END: FollowResult = { kind: 'end' };
const unproved = (why: string): FollowResult => ({ kind: 'unproved', why });

/**
 * Reads a list to its end, and proves that it is the end: whatever in a response speaks of more is followed, or the list
 * is refused. How the service is paged is found out by requests, and remembered once new items prove it.
 */
export class ListPages {
  private readonly http: Http;
  private readonly list: PagedList;
  private readonly options: CallOptions;
  private readonly progress = new PageProgress();
  private readonly requested = new Set<number>();
  private strategy: PagingStrategy | undefined;
  /** Whether the user set the strategy, which then decides where the list ends. */
  private isOverride = false;
  /** Whether new items proved the strategy in this run. */
  private isProved = false;
  /** What the last page was requested with. */
  private lastStep: PageStep | undefined;
  private first: FetchedPage | undefined;

  constructor(http: Http, list: PagedList, options: CallOptions) {
    this.http = http;
    this.list = list;
    this.options = options;
  }

  /**
   * Yields the items of each page, and holds at most two pages in memory.
   * @param first the first page
   * @throws ShapeError if the list cannot be read to its end
   */
  async *read(first: FetchedPage): AsyncGenerator<readonly JsonObject[]> {
    const { http, list } = this;
    const next = http.contract.next(list.operation.leaf);
    if (next.kind === 'none') return void (yield first.items);
    let page: NextPage = { ...first, ids: idsOf(http, list, first), repeated: 0 };
    this.first = first;
    this.isOverride = http.contract.leaf(`${list.operation.leaf}.next`).source === 'override';
    this.strategy = isStrategy(next) ? next : undefined;
    for (;;) {
      this.accept(page);
      const isKnown = this.strategy !== undefined;
      if (isKnown) yield page.items.slice(page.repeated);
      const following = await this.advance(page).catch((error: unknown) => ({ error }));
      const isFailure = following !== undefined && 'error' in following;
      // Items that precede a failure tell the consumer that the list exists. A refused list has none.
      if (!isKnown && !(isFailure && following.error instanceof ShapeError)) yield page.items.slice(page.repeated);
      if (isFailure) throw following.error;
      if (following === undefined) return;
      page = following;
    }
  }

  private accept(page: NextPage): void {
    const { progress, list } = this;
    const { maxPages = MAX_PAGES } = list;
    this.requested.add(fingerprint(page.response.path));
    progress.add(page.ids, page.repeated, page.signs);
    if (progress.pagesRead > maxPages) {
      throw this.refuse(page, `The list has more than ${maxPages.toLocaleString('en')} pages.`, {
        hint: 'A list of so many pages is most likely endless. Report it to the operator of the service.',
      });
    }
    if (progress.emptyPages > MAX_EMPTY_PAGES) {
      throw this.refuse(page, `${MAX_EMPTY_PAGES} pages of the list in a row are empty, and it still continues.`);
    }
  }

  /** Returns the next page, or undefined at the end of the list. */
  private async advance(page: NextPage): Promise<NextPage | undefined> {
    if (this.strategy) {
      const zero = this.lastStep ? undefined : stepFromZero(this.http, this.list, this.strategy, page);
      const second = zero && (await this.follow(zero, page));
      if (zero && second?.kind === 'page') return this.useStrategy(zero, second.page);
      const followed = await this.follow(nextStep(this.strategy, this.lastStep, page.signs, page.items.length), page);
      if (followed.kind === 'page') return followed.page;
      if (followed.kind === 'end') return undefined;
      this.dropUnproved(this.strategy, page, followed.why);
    }
    return this.detect(page);
  }

  private outlook(page: FetchedPage): Outlook {
    return this.progress.outlook(page.signs, page.items.length);
  }

  /** Goes back to detection after an observed or imported strategy did not prove itself. @throws ShapeError for any other */
  private dropUnproved(strategy: PagingStrategy, page: FetchedPage, why: string): void {
    const leaf = `${this.list.operation.leaf}.next` as const;
    const { source } = this.http.contract.leaf(leaf);
    if (this.isProved) throw this.refuse(page, `The list cannot be read to its end: ${why}.`, { hint: RETRY_HINT });
    if (source === 'override') {
      throw this.refuse(page, `${leaf} is set to ${formatStrategy(strategy)}, but ${why}.`, {
        hint: `Set another value, or find it out again: partnerctl contract set ${leaf} auto`,
      });
    }
    if (source === 'observed') this.http.observe(leaf, undefined);
    this.strategy = undefined;
    this.lastStep = undefined;
  }

  /** Requests the page that follows by a known strategy. */
  private async follow(step: PageStep, page: FetchedPage): Promise<FollowResult> {
    const outlook = this.outlook(page);
    if (!this.announcesNext(step.strategy, page, outlook)) return this.finish(step.strategy, page, outlook);
    const path = this.pathOf(step, page);
    if (path === undefined) return unproved('its items have no id');
    // Some services link the empty page after the last one to itself.
    if (path === page.response.path && page.items.length === 0 && isOnlySign(outlook.certain, step.strategy)) {
      return this.finish(step.strategy, page, { ...outlook, certain: [] });
    }
    if (this.requested.has(fingerprint(path))) {
      if (!this.isProved && !isLink(step.strategy)) return unproved('it leads back to an earlier page');
      throw this.refuse(page, CIRCLE, { seen: formatStrategy(step.strategy), hint: RETRY_HINT });
    }
    const followed = await this.attempt(step, path, outlook);
    const isRejected = followed.kind === 'unproved' && followed.isRejected === true;
    if (isRejected && this.isProved && isCounted(step.strategy) && outlook.certain.length === 0) return END;
    if (followed.kind === 'page') this.lastStep = step;
    return followed;
  }

  /** Requests a page, and decides what it proves. @throws as a failed call, unless the service rejects the parameter */
  private async attempt(step: PageStep, link: string, outlook: Outlook): Promise<FollowResult> {
    try {
      const page = await fetchPage(this.http, this.list, { ...this.options, link });
      return this.judge(step, page, outlook);
    } catch (error) {
      const status = isLink(step.strategy) ? undefined : rejectedStatus(error);
      if (status === undefined) throw error;
      return { kind: 'unproved', why: `the service rejects it (${status})`, isRejected: true };
    }
  }

  private judge({ strategy, number }: PageStep, page: FetchedPage, outlook: Outlook): FollowResult {
    const ids = idsOf(this.http, this.list, page);
    const comparison = this.progress.compare(ids);
    if (comparison.kind === 'empty') {
      const isToken = strategy.kind === 'token' && (this.isProved || isOnlySign(outlook.certain, strategy));
      const isFollowed = isLink(strategy) || isToken || (this.isProved && saysEnd(page.signs));
      if (isFollowed || this.isOverride || outlook.certain.length === 0)
        return { kind: 'page', page: { ...page, ids, repeated: 0 } };
      return unproved('the next page is empty although there should be more');
    }
    if (comparison.kind !== 'new') return unproved('the next page repeats items of an earlier one');
    const { repeated } = comparison;
    if (repeated > 1 && !this.isProved && !isLink(strategy)) return unproved('the next page repeats several items');
    const stated = strategy.kind === 'page' ? page.signs.pages : strategy.kind === 'offset' ? page.signs.offsets : [];
    const [echo] = stated;
    if (echo && !stated.some(({ value }) => value === number)) {
      return unproved(`the next page states ${echo.path}: ${echo.value}`);
    }
    this.prove(strategy);
    return { kind: 'page', page: { ...page, ids, repeated } };
  }

  private prove(strategy: PagingStrategy): void {
    if (this.isProved) return;
    this.isProved = true;
    const leaf = `${this.list.operation.leaf}.next` as const;
    const value = formatStrategy(strategy);
    if (this.http.contract.leaf(leaf).value !== value) this.http.observe(leaf, value);
  }

  /** Whether a page announces another one by a known strategy. */
  private announcesNext(strategy: PagingStrategy, page: FetchedPage, outlook: Outlook): boolean {
    const { certain, possible, isStated } = outlook;
    if (isCounted(strategy)) {
      const isOpen = !isStated && (this.isProved || this.isOverride);
      return page.items.length > 0 && (certain.length + possible.length > 0 || isOpen);
    }
    const value = sourceValue(strategy, page.pageResponse);
    if (value === undefined || value === null || value === '' || value === false || Number(value) < 0) return false;
    // Some services send a token even in the last page: it means nothing once everything was read.
    if (!isLink(strategy) && !this.isOverride && isStated && certain.length + possible.length === 0) return false;
    const { flags } = page.signs;
    const isLast = flags.length > 0 && flags.every((flag) => !flag.value);
    return isLink(strategy) || this.isOverride || !isLast;
  }

  /** Decides whether a page that announces no other is the last one. */
  private finish(strategy: PagingStrategy, page: FetchedPage, { certain, possible }: Outlook): FollowResult {
    if (this.isOverride) {
      const isUnused = this.progress.pagesRead === 1 && certain.length > 0 && !isCounted(strategy);
      return isUnused ? unproved(`the response has nothing there, and announces more with ${certain.join(', ')}`) : END;
    }
    if (!this.isProved && certain.length + possible.length > 0 && this.progress.emptyPages === 0) {
      return unproved('the response announces the next page in another way');
    }
    if (certain.length > 0) throw this.refuse(page, UNREAD, { strategy: formatStrategy(this.strategy) });
    this.checkTotal(page);
    return END;
  }

  /** @throws ShapeError if the service states another number of items than were read */
  private checkTotal(page: FetchedPage): void {
    const seen = this.progress.findMismatch();
    if (seen !== undefined) throw this.refuse(page, WRONG_TOTAL, { seen, strategy: formatStrategy(this.strategy) });
  }

  private pathOf(step: PageStep, page: FetchedPage): string | undefined {
    return pathOfStep(this.http, this.list, step, { page, first: this.first ?? page });
  }

  /** Finds out how the page after this one is requested. @throws ShapeError if no strategy proves itself */
  private async detect(page: FetchedPage): Promise<NextPage | undefined> {
    const outlook = this.outlook(page);
    const signs = [...outlook.certain, ...outlook.possible];
    if (signs.length === 0) return void this.checkTotal(page);
    const tried = new Set<string>();
    let fallback: { readonly step: PageStep; readonly page: NextPage } | undefined;
    for (const { step, path } of this.candidates(page)) {
      const { strategy } = step;
      const followed = await this.attempt(step, path, outlook);
      if (followed.kind === 'page') {
        const isProof = followed.page.items.length > 0 || isCloseParameter(strategy, page.signs);
        if (isProof) return this.useStrategy(step, followed.page);
        fallback ??= { step, page: followed.page };
      }
      if (isLink(strategy)) throw this.refuse(page, LINK_REPEATS, { seen: formatStrategy(strategy), hint: RETRY_HINT });
      tried.add(strategy.parameter);
    }
    if (fallback) return this.useStrategy(fallback.step, fallback.page);
    throw this.refuse(page, 'The list continues in a way that the tool cannot follow.', { tried: [...tried] });
  }

  /** Returns the requests for the page after the first one to try in turn. Only GET is tried out. */
  private candidates(page: FetchedPage): readonly { readonly step: PageStep; readonly path: string }[] {
    const isGet = this.http.contract.operation(this.list.operation.leaf)?.method === 'GET';
    const found = proposeSteps(page.signs, page.items.length).flatMap((step) => {
      const path = isGet || isLink(step.strategy) ? this.pathOf(step, page) : undefined;
      if (path === undefined) return [];
      if (!this.requested.has(fingerprint(path))) return [{ step, path }];
      if (!isLink(step.strategy)) return [];
      throw this.refuse(page, CIRCLE, { seen: formatStrategy(step.strategy), hint: RETRY_HINT });
    });
    return found.slice(0, MAX_TRIES);
  }

  private useStrategy(step: PageStep, page: NextPage): NextPage {
    this.strategy = step.strategy;
    this.lastStep = step;
    return page;
  }

  private refuse(page: FetchedPage, message: string, more: Partial<IncompleteList> = {}) {
    const { certain, possible } = this.outlook(page);
    const signs = [...certain, ...possible].map((sign) => withType(sign, page.pageResponse));
    const seen = signs.join(', ') || 'nothing more';
    return incompleteListError({ operation: this.list.operation, response: page.response, message, seen, ...more });
  }
}
