import { itemId, listedName, resourceOf } from '../contract/field-names.ts';
import { fieldsOf, findId } from '../contract/fields.ts';
import { type JsonObject, jsonText } from '../contract/json.ts';
import { formatStep, type PageStep, type Progress } from '../contract/page-steps.ts';
import { decideNext, type Failure, isEnd, type PagingRule, type Verdict } from '../contract/paging.ts';
import { UnknownShape } from '../contract/unknown-shape.ts';
import { ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions } from './call-request.ts';
import { type FetchedPage, fetchPage, type ListOperation, pathOfLink, pathWith, rejectedStatus } from './fetch-page.ts';
import type { Http } from './http.ts';
import { type IncompleteList, incompleteListError } from './incomplete-list.ts';

/** A list with more pages is endless. */
const MAX_PAGES = 10_000;

/** Statuses for a page that does not exist. */
const MISSING: readonly number[] = [404, 410, 416];

/** A list that the service serves in pages. */
export interface PagedList {
  readonly operation: ListOperation;
  readonly extent: PagingRule['extent'];
  /** Called before each page. @param after the message after which a history is to be read on */
  readonly options: (after?: string) => CallOptions;
}

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
  private readonly rule: PagingRule;
  /** What tells the items of earlier pages apart. */
  private readonly seen = new Set<string>();
  /** Texts that differ from request to request. */
  private readonly requested = new Set<string>();
  private firstPath = '';

  constructor(http: Http, list: PagedList) {
    const { contract } = http;
    const { leaf } = list.operation;
    this.http = http;
    this.list = list;
    this.rule = {
      next: contract.next(leaf),
      isOverride: contract.leaf(`${leaf}.next`).source === 'override',
      extent: list.extent,
      takesMessage:
        leaf === 'messages.history' && contract.parameter('messages.history.after_message_id') !== undefined,
    };
  }

  async *read(): AsyncGenerator<Page, void, void> {
    let progress: Progress = { items: 0, pages: 0, emptyPages: 0, step: undefined };
    let page = await this.fetch(this.list.options());
    this.firstPath = page.response.path;
    this.requested.add(this.firstPath);
    for (let step: PageStep | undefined; ; ) {
      const { response, items: sent } = page;
      // The items of the first page are remembered only if another one is requested: most lists have one.
      const items = progress.pages === 0 ? sent : this.remember(sent);
      progress = {
        items: progress.items + items.length,
        pages: progress.pages + 1,
        emptyPages: sent.length === 0 ? progress.emptyPages + 1 : 0,
        step,
      };
      if (progress.pages > MAX_PAGES) throw this.endless();
      const verdict = decideNext(page.paging, progress, this.rule, this.lastIdOf(page));
      if (this.isList) await this.checkEnd(page, verdict);
      yield { items, response, verdict };
      if (verdict.kind !== 'next') return;
      if (progress.pages === 1) this.remember(sent);
      const next = await this.requestNext(page, verdict.steps);
      if ('failures' in next) {
        const missing = this.endAfter(page, verdict, progress, next.failures);
        if (missing) yield { items: [], response, verdict: missing };
        return;
      }
      ({ page, step } = next);
    }
  }

  private get isList(): boolean {
    return this.list.extent === 'list';
  }

  private get isGet(): boolean {
    return this.http.contract.operation(this.list.operation.leaf)?.method === 'GET';
  }

  private fetch(options: CallOptions): Promise<FetchedPage> {
    return fetchPage(this.http, this.list.operation, this.list.extent, options);
  }

  /** Returns the id of the last item. @throws ShapeError if the next page is requested by it, and it cannot be read */
  private lastIdOf({ items, response }: FetchedPage): string | undefined {
    const last = items.at(-1);
    if (last === undefined) return undefined;
    if (this.rule.next.kind !== 'after') return this.idOf(last);
    const id = itemId(this.list.operation.leaf);
    return response.read((_, contract) => fieldsOf(last, resourceOf(id), contract).readId(id));
  }

  /** Returns the id of an item; undefined if it has none, or several that disagree. */
  private idOf(item: JsonObject): string | undefined {
    try {
      return findId(item, this.http.contract, itemId(this.list.operation.leaf));
    } catch (error) {
      if (error instanceof UnknownShape) return undefined;
      throw error;
    }
  }

  private keyOf(item: JsonObject): string {
    return this.idOf(item) ?? jsonText(item);
  }

  /** Remembers the items of a page. @returns those that no earlier page had */
  private remember(items: readonly JsonObject[]): readonly JsonObject[] {
    const keyed = items.map((item) => ({ item, key: this.keyOf(item) }));
    const fresh = keyed.filter(({ key }) => !this.seen.has(key));
    for (const { key } of keyed) this.seen.add(key);
    return fresh.map(({ item }) => item);
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

  /** Requests a page. @returns why it is not the next one, if it is not @throws as a failed call */
  private async attempt({ kind }: PageStep, options: CallOptions): Promise<FetchedPage | Failure> {
    try {
      const next = await this.fetch(options);
      // A filter may be applied after a page was read: the next one has the rest.
      if (next.items.length === 0) return kind === 'link' || kind === 'token' ? next : 'empty';
      return next.items.some((item) => !this.seen.has(this.keyOf(item))) ? next : 'repeated';
    } catch (error) {
      const status = kind === 'link' ? undefined : rejectedStatus(error);
      if (status === undefined) throw error;
      return MISSING.includes(status) ? 'empty' : 'rejected';
    }
  }

  /** Checks whether the list may end with this page. @throws ShapeError if it does not */
  private async checkEnd(page: FetchedPage, verdict: Verdict): Promise<void> {
    if (verdict.kind === 'whole' && verdict.mayContinue) await this.askOnceMore(page);
    if (verdict.kind !== 'unexplained') return;
    const message = `The list continues, and ${this.setting ?? 'nothing says how its next page is requested'}.`;
    throw this.refuse(page, message, verdict.signs);
  }

  /** Asks a list for more that has as many items as a page usually has. @throws ShapeError if there are others */
  private async askOnceMore(page: FetchedPage): Promise<void> {
    const { length } = page.items;
    if (!this.isGet) return this.warn(length);
    this.remember(page.items);
    const link = pathWith(this.http, page.response.path, { offset: `${length}`, skip: `${length}`, page: '2' });
    try {
      const more = await this.fetch({ ...this.list.options(), link });
      if (more.items.every((item) => this.seen.has(this.keyOf(item)))) return;
    } catch (error) {
      // A service may also forbid what it does not know. That does not make the list forbidden.
      if (rejectedStatus(error, [401, 403, 405]) === undefined) throw error;
      return this.warn(length);
    }
    const message = `The list has more than the ${length} items of its first page.`;
    throw this.refuse(page, message, ['other items for offset, skip, and page']);
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
    if (isEnd(verdict, failures, progress, this.rule)) {
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

  /** How the contract requests the next page; undefined if it does not say. */
  private get setting(): string | undefined {
    if (this.rule.next.kind === 'auto') return undefined;
    const leaf = `${this.list.operation.leaf}.next` as const;
    return `${leaf} is set to ${this.http.contract.leaf(leaf).value}, which leads to no other page`;
  }

  /** Warns of a list that may go on, where the service does not let the tool find out. */
  private warn(count: number): void {
    const { leaf } = this.list.operation;
    this.http.warn(
      `The list of ${listedName(leaf)} has ${count} items and may not be whole: nothing in it speaks of pages. If it is whole, run: partnerctl contract set ${leaf}.next none`,
    );
  }

  private endless(): ShapeError {
    const { operation } = this.list;
    const what = this.isList ? 'list' : 'history';
    return new ShapeError(`The ${what} has more than ${MAX_PAGES.toLocaleString('en')} pages.`, {
      hint: 'A list of so many pages is most likely endless. Report it to the operator of the service.',
      details: { operation: operation.name, leaf: `${operation.leaf}.next` },
    });
  }

  private refuse(
    { response }: FetchedPage,
    message: string,
    signs: readonly string[],
    more: Pick<IncompleteList, 'tried' | 'next' | 'isRead'> = {},
  ): ShapeError {
    const { operation } = this.list;
    return incompleteListError({ operation, response, message, seen: signs.join(', ') || 'nothing more', ...more });
  }
}
