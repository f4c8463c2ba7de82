import type { JsonObject } from '../contract/json.ts';
import { formatStep, type PageStep, type Progress } from '../contract/page-steps.ts';
import { decideNext, type Failure, isEnd, type Verdict } from '../contract/paging.ts';
import { ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions } from './call.ts';
import { type FetchedPage, fetchPage, type PagedList, rejectedStatus } from './fetch-page.ts';
import type { Http } from './http.ts';
import { incompleteListError } from './incomplete-list.ts';
import { pathOfLink, pathWith } from './page-request.ts';
import { SeenItems } from './seen-items.ts';

/** A list with more pages, or with more empty ones in a row, is endless. */
const MAX_PAGES = 10_000;
const MAX_EMPTY_PAGES = 100;

/** Statuses for a page that does not exist. */
const MISSING: readonly number[] = [404, 410, 416];

/** A page of a list. */
export interface Page {
  /** The items that no earlier page had. */
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  /** `next`: another page is requested when the consumer asks for it; it may have nothing new. `unexplained`: only of a history. */
  readonly verdict: Verdict;
}

type NextVerdict = Extract<Verdict, { readonly kind: 'next' }>;

/**
 * Reads a list page by page, for as long as a page says that another one follows and that one has new items.
 * @throws PartnerctlError; ShapeError if the list cannot be read to its end, unless it is a history
 */
export function readPages(http: Http, list: PagedList): AsyncGenerator<Page, void, void> {
  return new PageReader(http, list).read();
}

class PageReader {
  private readonly http: Http;
  private readonly list: PagedList;
  private readonly isList: boolean;
  private readonly seen: SeenItems;
  /** Texts that differ from request to request. */
  private readonly requested = new Set<string>();
  private firstPath = '';

  constructor(http: Http, list: PagedList) {
    this.http = http;
    this.list = list;
    this.isList = list.rule.extent === 'list';
    this.seen = new SeenItems(list.idOf);
  }

  async *read(): AsyncGenerator<Page, void, void> {
    const { idOf, rule } = this.list;
    let progress: Progress = { items: 0, pages: 0, emptyPages: 0, step: undefined };
    let page = await this.fetch(this.list.options());
    this.firstPath = page.response.path;
    this.requested.add(this.firstPath);
    for (let step: PageStep | undefined; ; ) {
      const { response, items: sent } = page;
      // The items of the first page are remembered only if another one is requested: most lists have one.
      const items = progress.pages === 0 ? sent : this.seen.add(sent);
      progress = advance(progress, { sent: sent.length, fresh: items.length, step });
      this.refuseEndless(progress);
      const last = sent.at(-1);
      const verdict = decideNext(page.paging, progress, rule, last && idOf(last));
      if (this.isList) await this.checkEnd(page, verdict);
      yield { items, response, verdict };
      if (verdict.kind !== 'next') return;
      if (progress.pages === 1) this.seen.add(sent);
      const next = await this.requestNext(page, verdict.steps);
      if ('failures' in next) {
        const missing = this.endAfter(page, verdict, progress, next.failures);
        if (missing) yield { items: [], response, verdict: missing };
        return;
      }
      ({ page, step } = next);
    }
  }

  private fetch(options: CallOptions): Promise<FetchedPage> {
    return fetchPage(this.http, this.list, options);
  }

  /** @throws ShapeError for an endless list */
  private refuseEndless({ pages, emptyPages }: Progress): void {
    const { operation } = this.list;
    const isEmpty = this.isList && emptyPages > MAX_EMPTY_PAGES;
    if (pages <= MAX_PAGES && !isEmpty) return;
    const many = `The ${this.isList ? 'list' : 'history'} has more than ${MAX_PAGES.toLocaleString('en')} pages.`;
    throw new ShapeError(isEmpty ? `${MAX_EMPTY_PAGES} pages of the list in a row are empty.` : many, {
      hint: 'A list of so many pages is most likely endless. Report it to the operator of the service.',
      details: { operation: operation.name, leaf: operation.leaf && `${operation.leaf}.next` },
    });
  }

  /** Checks whether the list may end with this page. @throws ShapeError if it does not */
  private async checkEnd(page: FetchedPage, verdict: Verdict): Promise<void> {
    if (verdict.kind === 'whole' && verdict.mayContinue) await this.askOnceMore(page);
    if (verdict.kind !== 'unexplained') return;
    const message = `The list continues, and ${this.setting ?? 'nothing says how its next page is requested'}.`;
    throw this.refuse(page, message, verdict.signs);
  }

  /** How the contract requests the next page; undefined if it does not say. */
  private get setting(): string | undefined {
    const { operation, rule } = this.list;
    if (operation.leaf === undefined || rule.next.kind === 'auto') return undefined;
    const leaf = `${operation.leaf}.next` as const;
    return `${leaf} is set to ${this.http.contract.leaf(leaf).value}, which leads to no other page`;
  }

  /** Requests the next page in each way, until one brings it. @throws as a failed call */
  private async requestNext(
    page: FetchedPage,
    steps: readonly PageStep[],
  ): Promise<{ readonly page: FetchedPage; readonly step: PageStep } | { readonly failures: readonly Failure[] }> {
    const failures: Failure[] = [];
    for (const step of steps) {
      const { options, key } = this.requestOf(step, page);
      const isNew = !this.requested.has(key);
      this.requested.add(key);
      const next = isNew ? await this.attempt(step, options) : 'repeated';
      if (typeof next !== 'string') return { page: next, step };
      failures.push(next);
    }
    return { failures };
  }

  /** Returns the request for a page, with a text that differs from that of any other page. @throws ShapeError for a bad link */
  private requestOf(step: PageStep, page: FetchedPage): { readonly options: CallOptions; readonly key: string } {
    const { http, list, firstPath } = this;
    if (step.kind === 'message') return { options: list.options(step.value), key: `after ${step.value}` };
    if (step.kind === 'link') {
      const link = pathOfLink(http, page.response.path, step.value);
      if (link !== undefined) return { options: { ...list.options(), link }, key: link };
      throw this.refuse(page, 'The next page of the list is not an address below the base URL.', [step.path]);
    }
    const parameters = { [step.parameter]: String(step.value) };
    const link = pathWith(http, firstPath, parameters);
    return { options: { ...list.options(), ...(this.isGet ? { link } : { more: parameters }) }, key: link };
  }

  private get isGet(): boolean {
    const { leaf } = this.list.operation;
    return leaf === undefined || this.http.contract.operation(leaf)?.method === 'GET';
  }

  /** Requests a page. @returns why it is not the next one, if it is not @throws as a failed call */
  private async attempt({ kind }: PageStep, options: CallOptions): Promise<FetchedPage | Failure> {
    try {
      const next = await this.fetch(options);
      // A filter may be applied after a page was read: the next one has the rest.
      if (next.items.length === 0) return kind === 'link' || kind === 'token' ? next : 'empty';
      return next.items.some((item) => !this.seen.has(item)) ? next : 'repeated';
    } catch (error) {
      const status = kind === 'link' ? undefined : rejectedStatus(error);
      if (status === undefined) throw error;
      return MISSING.includes(status) ? 'empty' : 'rejected';
    }
  }

  /** Decides what it means that no next page came. @returns what a history lacks @throws ShapeError for a list that lacks it */
  private endAfter(
    page: FetchedPage,
    verdict: NextVerdict,
    progress: Progress,
    failures: readonly Failure[],
  ): Verdict | undefined {
    const { steps, signs, isCertain } = verdict;
    const [step] = steps;
    if (!this.isList) {
      const isMissing = isCertain && page.items.length > 0 && step?.kind !== 'link';
      return isMissing ? { kind: 'unexplained', signs, isEarlier: false } : undefined;
    }
    const isRead = progress.step !== undefined;
    if (isEnd(verdict, failures, progress, this.list.rule)) {
      if (!isRead && failures.every((failure) => failure === 'rejected')) this.warn(progress.items);
      return undefined;
    }
    const next = step && formatStep(step);
    const tried = [...new Set(steps.flatMap((each) => ('parameter' in each ? [each.parameter] : [])))];
    const message = `The list continues, and ${this.setting ?? 'the requests for its next page bring nothing new'}.`;
    throw this.refuse(page, message, signs, {
      tried,
      isRead,
      next: isRead ? next : next?.replace(/[^:]*$/, '<parameter>'),
    });
  }

  /** Asks a list for more that has as many items as a page usually has. @throws ShapeError if there are others */
  private async askOnceMore(page: FetchedPage): Promise<void> {
    const { length } = page.items;
    this.seen.add(page.items);
    const link = pathWith(this.http, page.response.path, { offset: `${length}`, skip: `${length}`, page: '2' });
    try {
      if (this.isGet) {
        const more = await this.fetch({ ...this.list.options(), link });
        if (more.items.every((item) => this.seen.has(item))) return;
        const message = `The list has more than the ${length} items of its first page.`;
        throw this.refuse(page, message, ['other items for offset, skip, and page']);
      }
    } catch (error) {
      // A service may also forbid what it does not know. That does not make the list forbidden.
      if (rejectedStatus(error, [401, 403, 405]) === undefined) throw error;
    }
    this.warn(length);
  }

  /** Warns of a list that may go on, where the service does not let the tool find out. */
  private warn(count: number): void {
    const { resource, operation } = this.list;
    const whole = operation.leaf && ` If it is whole, run: partnerctl contract set ${operation.leaf}.next none`;
    this.http.warn(
      `The list of ${resource} has ${count} items and may not be whole: nothing in it speaks of pages.${whole ?? ''}`,
    );
  }

  private refuse(
    { response }: FetchedPage,
    message: string,
    signs: readonly string[],
    more: Pick<Parameters<typeof incompleteListError>[0], 'tried' | 'next' | 'isRead'> = {},
  ): ShapeError {
    const { operation } = this.list;
    return incompleteListError({ operation, response, message, seen: signs.join(', ') || 'nothing more', ...more });
  }
}

/** Counts a page. */
function advance(
  { items, pages, emptyPages }: Progress,
  { sent, fresh, step }: { readonly sent: number; readonly fresh: number; readonly step: PageStep | undefined },
): Progress {
  return { items: items + fresh, pages: pages + 1, emptyPages: sent === 0 ? emptyPages + 1 : 0, step };
}
