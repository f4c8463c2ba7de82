import { UnknownShape } from '../contract/assumptions.ts';
import { readList } from '../contract/body.ts';
import { findId } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import type { FieldLeaf, ListLeaf } from '../contract/leaves.ts';
import type { Operation } from '../contract/operations.ts';
import type { PageResponse } from '../contract/page-signs.ts';
import {
  formatStep,
  isRoundLength,
  isStrategy,
  type PageStep,
  type PagingStrategy,
  type Progress,
  readPaging,
  statedSizes,
  statesPageNumber,
  stepBy,
  type Verdict,
} from '../contract/paging.ts';
import { ErrorInSuccessBody, PartnerctlError, ShapeError } from '../errors.ts';
import { Paged } from '../output/paged.ts';
import type { ApiResponse } from './api-response.ts';
import type { Http } from './http.ts';
import type { CallOptions } from './http-options.ts';
import { incompleteListError } from './incomplete-list.ts';
import { readLinkHeader } from './link-header.ts';
import { pathOfLink, pathWith } from './page-link.ts';

/** A list with more pages, or with more empty ones in a row, is endless. */
const MAX_PAGES = 10_000;
const MAX_EMPTY_PAGES = 100;
/** A history may announce where it will continue, and send empty pages until then. */
const MAX_EMPTY_HISTORY_PAGES = 3;

/** The operation of a list. */
export type ListOperation = Operation & { readonly leaf: ListLeaf };

/** A list that the service serves in pages. */
export interface PagedList {
  readonly operation: ListOperation;
  /** The plural resource name, as the spec spells it. */
  readonly resource: string;
  /** `MAX_PAGES` by default. */
  readonly maxPages?: number | undefined;
  /**
   * Set for a history, which is read as far as it can be: known items are dropped, and a page without new ones ends it.
   * Returns the request for what comes after an item, if the service takes its id.
   */
  readonly after?: (id: string) => CallOptions | undefined;
  readonly extent?: Progress['extent'];
  /** Finds the items in a body; `readList` by default. */
  readonly readItems?: (body: unknown) => readonly JsonObject[];
  /** Whether 204 without a body says that there is nothing, rather than that there is no list. */
  readonly mayBeEmpty?: boolean;
}

/** A page of a list. */
export interface Page {
  /** The items that no earlier page had. */
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  /** Whether another page is requested when the consumer asks for it. It may have nothing new. */
  readonly hasMore: boolean;
  /** Whether the service says that this page ends the list. */
  readonly isDeclaredEnd: boolean;
  /** What announces more than can be requested; only of a history. */
  readonly unexplained?: Extract<Verdict, { kind: 'unexplained' }> | undefined;
}

interface FetchedPage {
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  readonly paging: PageResponse;
}

/** What to request after a page. */
interface Plan {
  /** Requests to try in turn. */
  readonly steps: readonly PageStep[];
  /** Whether there is more, so that the list may not end here. */
  readonly isCertain: boolean;
  readonly signs: readonly string[];
}

const ID_LEAVES: Readonly<Record<ListLeaf, FieldLeaf>> = {
  'spaces.list': 'space.id',
  'agents.list': 'agent.id',
  'cron_jobs.list': 'cron_job.id',
  'messages.history': 'message.id',
};

const RETRY_HINT = 'The list may have changed while it was read: run the command again.';

/**
 * Lists every item, and holds two pages in memory at most (assumptions `list.envelope` and `list.next`). Reading it throws
 * ShapeError for a list that cannot be read to its end; the items of a page are not yielded before it is known how the list continues.
 * @param resource the plural resource name, as the spec spells it
 */
export function listAll(
  http: Http,
  operation: ListOperation,
  resource: string,
  options: CallOptions = {},
): Paged<JsonObject> {
  return new Paged(itemsOf(new PageReader(http, { operation, resource }, () => options).read()));
}

/** Yields the items of pages, those of the first one only when it is known how the list continues. */
export async function* itemsOf(pages: AsyncIterable<Page>): AsyncGenerator<readonly JsonObject[]> {
  let first: readonly JsonObject[] | undefined;
  try {
    for await (const { items, hasMore } of pages) {
      if (first !== undefined) yield first;
      const isFirst = first === undefined && hasMore;
      first = isFirst ? items : undefined;
      if (!isFirst) yield items;
    }
  } catch (error) {
    // A page before a failure tells the consumer that the list exists. A refused list has no items.
    if (first !== undefined && !(error instanceof ShapeError)) yield first;
    throw error;
  }
  if (first !== undefined) yield first;
}

/** Reads a list page by page, for as long as a page says that another one follows and that one has new items. */
export class PageReader {
  private readonly http: Http;
  private readonly list: PagedList;
  private readonly options: () => CallOptions;
  /** How the contract says that the next page is requested. */
  private readonly strategy: PagingStrategy | undefined;
  private readonly isOverride: boolean;
  /** Fingerprints of all items, and of the requests. */
  private readonly seen = new Set<number>();
  private readonly requested = new Set<number>();
  /** The smallest and the largest value of each number that states the size of the list. */
  private readonly sizes = new Map<string, readonly [number, number]>();
  /** How many different items were read. */
  private items = 0;
  private pages = 0;
  /** How many pages in a row had no items. */
  private emptyPages = 0;
  /** How the last page was requested; undefined for the first one. */
  private step: PageStep | undefined;
  private first: ApiResponse | undefined;

  /** @param options called before each page */
  constructor(http: Http, list: PagedList, options: () => CallOptions) {
    this.http = http;
    this.list = list;
    this.options = options;
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
      const verdict = this.verdict(page);
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

  private async fetch(options: CallOptions): Promise<FetchedPage> {
    const { operation, resource, mayBeEmpty } = this.list;
    const response = await this.http.call(operation, options);
    if (mayBeEmpty) response.acceptNothing();
    const place = this.http.contract.items(operation.leaf);
    const items = response.read(this.list.readItems ?? ((body) => readList(body, resource, place)));
    const headerLinks = await readLinkHeader(response);
    if (headerLinks === undefined) {
      const message = 'The list continues, but its Link header cannot be read.';
      throw incompleteListError({ operation, response, message, seen: 'header.link' });
    }
    const { headers, status } = response;
    const paging = { body: response.json(), headers, status, itemCount: items.length, headerLinks };
    return { items, response, paging };
  }

  /** Counts a page. @returns its items that no earlier page had @throws ShapeError for an endless list */
  private accept(page: FetchedPage): readonly JsonObject[] {
    const { maxPages = MAX_PAGES, operation } = this.list;
    const fresh = this.pages === 0 ? page.items : this.unseen(page.items);
    this.pages += 1;
    this.items += fresh.length;
    this.emptyPages = page.items.length === 0 ? this.emptyPages + 1 : 0;
    for (const { path, value } of statedSizes(page.paging)) {
      const [least = value, most = value] = this.sizes.get(path) ?? [];
      this.sizes.set(path, [Math.min(least, value), Math.max(most, value)]);
    }
    const isHistory = this.list.after !== undefined;
    const hint = 'A list of so many pages is most likely endless. Report it to the operator of the service.';
    if (this.pages > maxPages) {
      const message = `The ${isHistory ? 'history' : 'list'} has more than ${maxPages.toLocaleString('en')} pages.`;
      throw new ShapeError(message, { hint, details: { operation: operation.name, leaf: `${operation.leaf}.next` } });
    }
    if (this.emptyPages > MAX_EMPTY_PAGES && !isHistory) {
      throw new ShapeError(`${MAX_EMPTY_PAGES} pages of the list in a row are empty, and it still continues.`, {
        hint,
      });
    }
    return fresh;
  }

  private verdict({ paging }: FetchedPage): Verdict {
    return readPaging(paging, this.progress);
  }

  private get progress(): Progress {
    return { items: this.items, pages: this.pages, step: this.step, extent: this.list.extent ?? 'list' };
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
      throw this.refuseSetting(
        page,
        signs,
        `the response has nothing there, and announces more with ${signs.join(', ')}`,
      );
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
    if (this.emptyPages > (this.items === 0 ? MAX_EMPTY_HISTORY_PAGES : MAX_EMPTY_PAGES)) return undefined;
    const announced = verdict.kind === 'next' ? verdict.steps : [];
    const lastId = this.lastId(page);
    const own: readonly PageStep[] = lastId === undefined ? [] : [{ kind: 'after', parameter: '', value: lastId }];
    const steps = this.step?.kind === 'after' ? [...own, ...announced] : [...announced, ...own];
    return { steps, isCertain: verdict.kind === 'unexplained' || verdict.isCertain, signs: verdict.signs };
  }

  private stepsBy(strategy: PagingStrategy, page: FetchedPage): readonly PageStep[] {
    const isCounted = strategy.kind === 'page' || strategy.kind === 'offset' || strategy.kind === 'after';
    if (isCounted && page.items.length === 0) return [];
    const step = stepBy(strategy, page.paging, this.progress, this.lastId(page));
    if (step === undefined) return [];
    // Page 1 repeats the first page, or is the second one if pages count from 0.
    const isOpen = step.kind === 'page' && strategy.kind === 'page' && strategy.first === undefined && step.value === 2;
    return isOpen && this.step === undefined && !statesPageNumber(page.paging) ? [{ ...step, value: 1 }, step] : [step];
  }

  private lastId({ items }: FetchedPage): string | undefined {
    const last = items.at(-1);
    return last && this.idOf(last);
  }

  /** Requests the next page. @returns undefined at the end of the list @throws ShapeError if it cannot be read on */
  private async follow(plan: Plan, page: FetchedPage): Promise<FetchedPage | undefined> {
    if (this.pages === 1) this.unseen(page.items);
    const failures: string[] = [];
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
  private async attempt(step: PageStep, page: FetchedPage): Promise<FetchedPage | 'empty' | 'repeated' | 'rejected'> {
    const request = this.requestOf(step, page);
    if (request === undefined || this.requested.has(fingerprint(request.key))) return 'repeated';
    this.requested.add(fingerprint(request.key));
    try {
      const next = await this.fetch({ ...this.options(), ...request.options });
      // A filter may be applied after a page was read: the next one has the rest.
      if (next.items.length === 0) return step.kind === 'link' || step.kind === 'token' ? next : 'empty';
      return next.items.some((item) => !this.seen.has(this.identify(item))) ? next : 'repeated';
    } catch (error) {
      if (step.kind === 'link' || rejectedStatus(error) === undefined) throw error;
      return 'rejected';
    }
  }

  private requestOf(
    step: PageStep,
    page: FetchedPage,
  ): { readonly options: CallOptions; readonly key: string } | undefined {
    const { http, list, first = page.response } = this;
    if (step.kind === 'link') {
      const link = pathOfLink(http, list.operation, page.response, step.value);
      return { options: { link }, key: link };
    }
    if (step.kind === 'after' && step.parameter === '') {
      const options = list.after?.(step.value);
      return options && { options, key: `after ${step.value}` };
    }
    const parameters = { [step.parameter]: String(step.value) };
    const link = pathWith(http, first, parameters);
    const isGet = http.contract.operation(list.operation.leaf)?.method === 'GET';
    return { options: isGet ? { link } : { json: parameters }, key: link };
  }

  /** Decides about a list whose next page has nothing new. @throws ShapeError if there is more */
  private endOrRefuse(plan: Plan, page: FetchedPage, failures: readonly string[]): undefined {
    const [step] = plan.steps;
    const isProved = this.step !== undefined;
    const isEnd = !plan.isCertain && (isProved || failures.every((failure) => failure === 'empty'));
    const isEmptyLink = step?.kind === 'link' && page.items.length === 0;
    if (this.strategy) {
      if (isProved || !plan.isCertain || isEmptyLink) return this.checkSizes(page);
      throw this.refuseSetting(page, plan.signs, why(failures));
    }
    // Some services link the empty page after the last one to itself.
    if (isEnd || isEmptyLink) return this.checkSizes(page);
    const isCircle = step && (step.kind === 'link' || isProved) && failures.every((failure) => failure === 'repeated');
    if (isCircle) {
      const message = 'The pages of the list form a circle: the next one repeats items of an earlier one.';
      throw this.refuse(page, message, plan.signs, { hint: RETRY_HINT, next: formatStep(step) });
    }
    const tried = plan.steps.flatMap((each) => (each.kind === 'link' ? [] : [each.parameter]));
    const message = 'The list continues in a way that the tool cannot follow.';
    const isRead = isProved && step !== undefined && { hint: RETRY_HINT, isRead: true, next: formatStep(step) };
    throw this.refuse(page, message, plan.signs, { tried, ...isRead });
  }

  /** Checks a list of which nothing speaks of more. @throws ShapeError if it may not be whole */
  private async checkEnd(page: FetchedPage, verdict: Verdict): Promise<void> {
    if (this.list.after || this.http.contract.next(this.list.operation.leaf).kind === 'none') return;
    if (!this.strategy) this.checkSizes(page);
    const mayContinue =
      verdict.kind === 'whole' && (verdict.isFull || (!verdict.isStated && isRoundLength(this.items)));
    if (mayContinue && this.pages === 1 && !this.strategy) await this.askOnceMore(page);
  }

  /** @throws ShapeError if the service states another number of items than were read */
  private checkSizes(page: FetchedPage): undefined {
    const wrong = [...this.sizes].find(([, [least, most]]) => this.items < least || this.items > most);
    if (wrong === undefined || (this.isOverride && this.strategy)) return;
    const [path, [, most]] = wrong;
    const message = 'The service states another number of items than it sent.';
    const next = this.step ? formatStep(this.step) : 'none';
    throw this.refuse(page, message, [`${path}: ${most}, and ${this.items} read`], {
      hint: RETRY_HINT,
      isRead: true,
      next,
    });
  }

  /** Asks a list for more that has as many items as a page usually has. @throws ShapeError if there are others */
  private async askOnceMore(page: FetchedPage): Promise<void> {
    const { http, list, items } = this;
    this.unseen(page.items);
    const link = pathWith(http, page.response, { offset: String(items), skip: String(items), page: '2' });
    try {
      if (http.contract.operation(list.operation.leaf)?.method === 'GET') {
        const more = await this.fetch({ ...this.options(), link });
        if (more.items.every((item) => this.seen.has(this.identify(item)))) return;
        const signs = ['other items for offset, skip, and page'];
        throw this.refuse(page, `The list has more than the ${items} items of its first page.`, signs);
      }
    } catch (error) {
      const isAnswer = error instanceof ErrorInSuccessBody || rejectedStatus(error) !== undefined;
      if (!isAnswer) throw error;
    }
    http.warn(
      `The list of ${list.resource} has exactly ${items} items and may not be whole: nothing in it speaks of pages. ` +
        `If it is whole, run: partnerctl contract set ${list.operation.leaf}.next none`,
    );
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
    const message = `${leaf} is set to ${this.http.contract.leaf(leaf).value}, but ${why}.`;
    return this.refuse(page, message, signs, {
      hint: `To read what a page announces instead, run: partnerctl contract set ${leaf} auto`,
    });
  }

  /** Remembers items. @returns those that were not known */
  private unseen(items: readonly JsonObject[]): readonly JsonObject[] {
    const keys = items.map((item) => this.identify(item));
    const fresh = items.filter((_, index) => !this.seen.has(keys[index] ?? 0));
    for (const key of keys) this.seen.add(key);
    return fresh;
  }

  private identify(item: JsonObject): number {
    return fingerprint(this.idOf(item) ?? JSON.stringify(item, bigintAsText));
  }

  /** Returns the id of an item; undefined if it has none, or several that disagree. */
  private idOf(item: JsonObject): string | undefined {
    try {
      return findId(item, this.http.contract, ID_LEAVES[this.list.operation.leaf]);
    } catch (error) {
      if (error instanceof UnknownShape) return undefined;
      throw error;
    }
  }
}

function why(failures: readonly string[]): string {
  if (failures.includes('repeated')) return 'the next page repeats items of an earlier one';
  return failures.includes('empty') ? 'the next page is empty, although there is more' : 'the service rejects it';
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}

/** Statuses with which a service rejects a parameter that it does not know, or a page that it does not have. */
const REJECTIONS: ReadonlySet<number | undefined> = new Set([400, 404, 409, 410, 412, 416, 422, 500, 501]);

/** Returns the status with which the service itself rejected a request for a page; undefined for any other error. */
function rejectedStatus(error: unknown): number | undefined {
  if (!(error instanceof PartnerctlError) || error.info.fromGateway) return undefined;
  const { status } = error.info;
  if (error instanceof ErrorInSuccessBody) return status;
  return !(error instanceof ShapeError) && REJECTIONS.has(status) ? status : undefined;
}

/** Returns a 53-bit hash. */
function fingerprint(text: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}
