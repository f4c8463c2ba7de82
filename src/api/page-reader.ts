import type { JsonObject } from '../contract/json.ts';
import {
  formatStep,
  isRoundLength,
  isStrategy,
  type PageStep,
  type PagingStrategy,
  type Progress,
  readPaging,
  statesPageNumber,
  stepBy,
  type Verdict,
} from '../contract/paging.ts';
import { ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions } from './call.ts';
import { type FetchedPage, fetchPage, type Page, type PagedList, rejectedStatus } from './fetch-page.ts';
import type { Http } from './http.ts';
import { incompleteListError, partialWarning } from './incomplete-list.ts';
import { fingerprint, ListProgress } from './list-progress.ts';
import { pathWith, requestOf } from './page-request.ts';

/** A list with more pages, or with more empty ones in a row, is endless. */
const MAX_PAGES = 10_000;
const MAX_EMPTY_PAGES = 100;
/** A history may announce where it will continue, and send empty pages until then. */
const MAX_EMPTY_HISTORY_PAGES = 3;

/** What to request after a page. */
interface Plan {
  /** Requests to try in turn. */
  readonly steps: readonly PageStep[];
  /** Whether there is more, so that the list may not end here. */
  readonly isCertain: boolean;
  readonly signs: readonly string[];
}

/** Why a page is not the next one. */
type Failure = 'empty' | 'repeated' | 'rejected';

const WHY: Readonly<Record<Failure, string>> = {
  empty: 'the next page is empty, although there is more',
  repeated: 'the next page repeats items of an earlier one',
  rejected: 'the service rejects it',
};

/** Statuses for a page that does not exist. */
const MISSING: readonly number[] = [404, 410, 416];

const RETRY_HINT = 'The list may have changed while it was read: run the command again.';

/** Reads a list page by page, for as long as a page says that another one follows and that one has new items. */
export class PageReader {
  private readonly http: Http;
  private readonly list: PagedList;
  private readonly options: () => CallOptions;
  /** How the contract says that the next page is requested. */
  private readonly strategy: PagingStrategy | undefined;
  private readonly isOverride: boolean;
  private readonly progress: ListProgress;
  /** Fingerprints of the requests. */
  private readonly requested = new Set<number>();
  /** How the last page was requested; undefined for the first one. */
  private step: PageStep | undefined;
  private first: ApiResponse | undefined;

  /** @param options called before each page */
  constructor(http: Http, list: PagedList, options: () => CallOptions) {
    this.http = http;
    this.list = list;
    this.options = options;
    this.progress = new ListProgress(http.contract, list.operation.leaf);
    const next = http.contract.next(list.operation.leaf);
    this.strategy = isStrategy(next) ? next : undefined;
    this.isOverride = http.contract.leaf(`${list.operation.leaf}.next`).source === 'override';
  }

  /** @throws ShapeError if the list cannot be read to its end, unless it is a history */
  async *read(): AsyncGenerator<Page, void, void> {
    let page = await this.fetch(this.options());
    this.first = page.response;
    this.requested.add(fingerprint(page.response.path));
    for (;;) {
      const { response } = page;
      const items = this.accept(page);
      const verdict = readPaging(page.paging, this.extent);
      const plan = this.plan(page, verdict);
      const isDeclaredEnd = plan === undefined && verdict.kind === 'whole' && verdict.isStated;
      if (plan === undefined) await this.checkEnd(page, verdict);
      const isEarlier = this.list.after && verdict.kind === 'unexplained' && verdict.isEarlier;
      yield {
        items,
        response,
        hasMore: plan !== undefined,
        isDeclaredEnd,
        unexplained: isEarlier ? verdict : undefined,
      };
      if (plan === undefined) return;
      const next = await this.follow(plan, page);
      if (next === undefined) {
        const isMissing = this.list.after && plan.isCertain && page.items.length > 0 && plan.steps[0]?.kind !== 'link';
        const unexplained = { kind: 'unexplained', signs: plan.signs, isEarlier: false } as const;
        if (isMissing) yield { items: [], response, hasMore: false, isDeclaredEnd: false, unexplained };
        return;
      }
      page = next;
    }
  }

  private fetch(options: CallOptions): Promise<FetchedPage> {
    return fetchPage(this.http, this.list, options);
  }

  /** Counts a page. @returns its items that no earlier page had @throws ShapeError for an endless list */
  private accept(page: FetchedPage): readonly JsonObject[] {
    const { maxPages = MAX_PAGES, operation, after } = this.list;
    const fresh = this.progress.add(page);
    const { pages, emptyPages } = this.progress;
    const isEmpty = emptyPages > MAX_EMPTY_PAGES && after === undefined;
    if (pages <= maxPages && !isEmpty) return fresh;
    const many = `The ${after ? 'history' : 'list'} has more than ${maxPages.toLocaleString('en')} pages.`;
    throw new ShapeError(isEmpty ? `${MAX_EMPTY_PAGES} pages of the list in a row are empty.` : many, {
      hint: 'A list of so many pages is most likely endless. Report it to the operator of the service.',
      details: { operation: operation.name, leaf: `${operation.leaf}.next` },
    });
  }

  /** What was read, with this page. */
  private get extent(): Progress {
    const { items, pages } = this.progress;
    return { items, pages, step: this.step, extent: this.list.extent ?? 'list' };
  }

  /** Returns what to request next; undefined at the end. @throws ShapeError if there is more that nothing says how to request */
  private plan(page: FetchedPage, verdict: Verdict): Plan | undefined {
    const { http, list, strategy } = this;
    const isHistory = list.after !== undefined;
    if (http.contract.next(list.operation.leaf).kind === 'none') return undefined;
    const signs = verdict.kind === 'whole' ? [] : verdict.signs;
    const isCertain = verdict.kind === 'unexplained' || (verdict.kind === 'next' && verdict.isCertain);
    if (strategy) {
      const steps = this.stepsBy(strategy, page);
      if (steps.length > 0) return { steps, isCertain, signs };
      if (verdict.kind === 'whole' || this.step !== undefined || isHistory) return undefined;
      throw this.refuseSetting(page, signs, `the response has nothing there, and more with ${signs.join(', ')}`);
    }
    if (isHistory) return this.planHistory(page, verdict);
    if (verdict.kind === 'next') return verdict;
    if (verdict.kind === 'whole') return undefined;
    const message = verdict.isEarlier
      ? 'The list begins before the first page that the service sends.'
      : 'The list continues, and nothing says how its next page is requested.';
    throw this.refuse(page, message, signs);
  }

  /** After the requests that a page announces, a history is read on after its last message. */
  private planHistory(page: FetchedPage, verdict: Verdict): Plan | undefined {
    if (verdict.kind === 'whole' || (verdict.kind === 'unexplained' && verdict.isEarlier)) return undefined;
    if (verdict.kind === 'next' && verdict.steps[0]?.kind === 'link') return verdict;
    const { emptyPages, items } = this.progress;
    if (emptyPages > (items === 0 ? MAX_EMPTY_HISTORY_PAGES : MAX_EMPTY_PAGES)) return undefined;
    const announced = verdict.kind === 'next' ? verdict.steps : [];
    const lastId = this.progress.lastId(page.items);
    const own: readonly PageStep[] = lastId === undefined ? [] : [{ kind: 'after', parameter: '', value: lastId }];
    const steps = this.step?.kind === 'after' ? [...own, ...announced] : [...announced, ...own];
    return { steps, isCertain: verdict.kind === 'unexplained' || verdict.isCertain, signs: verdict.signs };
  }

  private stepsBy(strategy: PagingStrategy, page: FetchedPage): readonly PageStep[] {
    const isCounted = strategy.kind === 'page' || strategy.kind === 'offset' || strategy.kind === 'after';
    const last = page.items.at(-1);
    if (isCounted && last === undefined) return [];
    // Whatever cannot be read of the id is what the user has to settle first.
    if (strategy.kind === 'after' && last) page.response.read(() => this.progress.readId(last));
    const step = stepBy(strategy, page.paging, this.extent, this.progress.lastId(page.items));
    if (step === undefined) return [];
    // Page 1 repeats the first page, or is the second one if pages count from 0.
    const isOpen = step.kind === 'page' && strategy.kind === 'page' && strategy.first === undefined && step.value === 2;
    return isOpen && this.step === undefined && !statesPageNumber(page.paging) ? [{ ...step, value: 1 }, step] : [step];
  }

  /** Requests the next page. @returns undefined at the end of the list @throws ShapeError if it cannot be read on */
  private async follow(plan: Plan, page: FetchedPage): Promise<FetchedPage | undefined> {
    if (this.progress.pages === 1) this.progress.remember(page.items);
    const failures: Failure[] = [];
    for (const step of plan.steps) {
      const result = await this.attempt(step, page);
      if (typeof result !== 'string') {
        this.step = step;
        return result;
      }
      failures.push(result);
    }
    if (this.list.after) return undefined;
    return this.endOrRefuse(plan, page, failures);
  }

  /** Requests a page. @returns why it is not the next one, if it is not @throws as a failed call */
  private async attempt(step: PageStep, page: FetchedPage): Promise<FetchedPage | Failure> {
    const request = requestOf(this.http, this.list, step, { page: page.response, first: this.first ?? page.response });
    if (request === undefined || this.requested.has(fingerprint(request.key))) return 'repeated';
    this.requested.add(fingerprint(request.key));
    try {
      const next = await this.fetch({ ...this.options(), ...request.options });
      // A filter may be applied after a page was read: the next one has the rest.
      if (next.items.length === 0) return step.kind === 'link' || step.kind === 'token' ? next : 'empty';
      return next.items.some((item) => !this.progress.has(item)) ? next : 'repeated';
    } catch (error) {
      const status = step.kind === 'link' ? undefined : rejectedStatus(error);
      if (status === undefined) throw error;
      return MISSING.includes(status) ? 'empty' : 'rejected';
    }
  }

  /** Decides about a list whose next page has nothing new. @throws ShapeError if there is more */
  private endOrRefuse(plan: Plan, page: FetchedPage, failures: readonly Failure[]): undefined {
    const [step] = plan.steps;
    const isProved = this.step !== undefined;
    // Some services link the empty page after the last one to itself.
    const isEmptyLink = step?.kind === 'link' && page.items.length === 0;
    const areAll = (wanted: Failure) => failures.every((failure) => failure === wanted);
    if (this.strategy) {
      const isEnd = isProved || !plan.isCertain || isEmptyLink;
      if (!isEnd) throw this.refuseSetting(page, plan.signs, WHY[failures.at(-1) ?? 'empty']);
      if (!isProved && areAll('rejected')) this.warn();
      return this.checkSizes(page);
    }
    if (isEmptyLink || (!plan.isCertain && (isProved || areAll('empty')))) return this.checkSizes(page);
    const next = step ? formatStep(step) : 'none';
    if (areAll('repeated') && (isProved || step?.kind === 'link')) {
      const message = 'The pages of the list form a circle: the next one repeats items of an earlier one.';
      throw this.refuse(page, message, plan.signs, { hint: RETRY_HINT, next });
    }
    const tried = plan.steps.flatMap((each) => (each.kind === 'link' ? [] : [each.parameter]));
    const message = 'The list continues in a way that the tool cannot follow.';
    const open = next.replace(/[^:]*$/, '<parameter>');
    const fix = isProved ? { hint: RETRY_HINT, isRead: true, next } : { next: open };
    throw this.refuse(page, message, plan.signs, { tried, ...fix });
  }

  /** Checks a list of which nothing speaks of more. @throws ShapeError if it may not be whole */
  private async checkEnd(page: FetchedPage, verdict: Verdict): Promise<void> {
    if (this.list.after || this.http.contract.next(this.list.operation.leaf).kind === 'none') return;
    this.checkSizes(page);
    const mayContinue =
      verdict.kind === 'whole' && (verdict.isFull || (!verdict.isStated && isRoundLength(this.progress.items)));
    if (mayContinue && this.progress.pages === 1 && !this.strategy) await this.askOnceMore(page);
  }

  /** @throws ShapeError if the service states another number of items than were read */
  private checkSizes(page: FetchedPage): undefined {
    const wrong = this.progress.mismatch();
    if (wrong === undefined || (this.isOverride && this.strategy)) return;
    const next = this.step ? formatStep(this.step) : 'none';
    const message = 'The service states another number of items than it sent.';
    throw this.refuse(page, message, [wrong], { hint: RETRY_HINT, isRead: true, next });
  }

  /** Asks a list for more that has as many items as a page usually has. @throws ShapeError if there are others */
  private async askOnceMore(page: FetchedPage): Promise<void> {
    const { http, list } = this;
    const { items } = this.progress;
    this.progress.remember(page.items);
    const link = pathWith(http, page.response, { offset: String(items), skip: String(items), page: '2' });
    try {
      if (http.contract.operation(list.operation.leaf)?.method === 'GET') {
        const more = await this.fetch({ ...this.options(), link });
        if (more.items.every((item) => this.progress.has(item))) return;
        const signs = ['other items for offset, skip, and page'];
        throw this.refuse(page, `The list has more than the ${items} items of its first page.`, signs);
      }
    } catch (error) {
      // A service may also forbid what it does not know. That does not make the list forbidden.
      if (rejectedStatus(error, [401, 403, 405]) === undefined) throw error;
    }
    this.warn();
  }

  private warn(): void {
    this.http.warn(partialWarning(this.list, this.progress.items));
  }

  private refuse(
    { response }: FetchedPage,
    message: string,
    signs: readonly string[],
    more: Partial<Parameters<typeof incompleteListError>[0]> = {},
  ): ShapeError {
    const seen = signs.join(', ') || 'nothing more';
    return incompleteListError({ operation: this.list.operation, response, message, seen, ...more });
  }

  private refuseSetting(page: FetchedPage, signs: readonly string[], why: string): ShapeError {
    const leaf = `${this.list.operation.leaf}.next` as const;
    const hint = `To read what a page announces instead, run: partnerctl contract set ${leaf} auto`;
    return this.refuse(page, `${leaf} is set to ${this.http.contract.leaf(leaf).value}, but ${why}.`, signs, { hint });
  }
}
