import { readList } from '../contract/body.ts';
import { readSigns } from '../contract/page-signs.ts';
import {
  addPage,
  formatStep,
  hasOpenCounts,
  isNumberStep,
  nextSteps,
  type PageStep,
  stepAfter,
} from '../contract/paging.ts';
import { PartnerctlError, type ShapeError } from '../errors.ts';
import type { CallOptions } from './call.ts';
import type { Http } from './http.ts';
import { type Behind, type Ending, endOf, type PagedList, type Reader, type SentPage } from './list-end.ts';
import { incompleteList, isMissing, isRejected, ListChanged, type Problem } from './page-errors.ts';
import { pathOfLink, readNextLink } from './page-request.ts';

/* How the pages of a list are requested, one after the other. `list-end.ts` decides why it ends. */

/** A list with more pages is endless. */
const MAX_PAGES = 10_000;
/** A history may announce where it will continue, and send empty pages until then. */
const MAX_EMPTY_PAGES = 3;

export interface Page<Item> extends Partial<Ending> {
  readonly items: readonly Item[];
  /** Whether this last page of a history states more than was read. */
  readonly hasOpenCounts?: boolean;
}

/**
 * Reads a list page by page, and proves its end. A request that fails is never an end. A list that changes meanwhile is read
 * once more.
 * @throws PartnerctlError of a request; ShapeError for a list that continues where nothing can be requested
 */
export async function* readPages<Item>(http: Http, list: PagedList<Item>): AsyncGenerator<Page<Item>, void, void> {
  const first = new PageReader(http, list);
  try {
    yield* first.read();
  } catch (error) {
    if (!(error instanceof ListChanged)) throw error;
    // What the first reading yielded is not yielded again.
    for await (const page of new PageReader(http, list).read())
      yield { ...page, items: page.items.filter((item) => !first.seen.has(list.idOf(item))) };
  }
}

class PageReader<Item> implements Reader<Item> {
  /** The ids of the pages before: a total counts different items. */
  readonly seen = new Set<string>();
  readonly http: Http;
  readonly list: PagedList<Item>;
  private readonly asked = new Set<string>();

  constructor(http: Http, list: PagedList<Item>) {
    this.http = http;
    this.list = list;
  }

  async *read(): AsyncGenerator<Page<Item>, void, void> {
    let page = await this.fetch(undefined, {});
    this.asked.add(page.response.call.wire.path);
    for (;;) {
      const items = [...page.fresh.values()];
      const steps = this.stepsFrom(page);
      if (steps.length === 0 && this.list.extent !== 'list')
        return yield { items, ...(await endOf(this, page)), hasOpenCounts: hasOpenCounts(page) };
      // Before more is asked for: what fails then says nothing of the list.
      yield { items };
      for (const id of page.fresh.keys()) this.seen.add(id);
      if (steps.length === 0) return yield { items: [], ...(await endOf(this, page)) };
      if (page.progress.pages >= MAX_PAGES)
        throw this.incomplete(page, { message: 'The list is endless.', signs: [`${MAX_PAGES} pages`] });
      const next = await this.advance(page, steps);
      if (typeof next === 'string') return yield { items: [], ...(await endOf(this, page, next)) };
      page = next;
    }
  }

  private stepsFrom(page: SentPage<Item>): readonly PageStep[] {
    const { extent, operation } = this.list;
    if (extent !== 'list' && page.progress.emptyPages > MAX_EMPTY_PAGES) return [];
    return nextSteps(this.http.contract.next(operation.leaf), page, extent);
  }

  /** @throws as a failed call; ShapeError for a response that is no list */
  async fetch(before: SentPage<Item> | undefined, request: CallOptions, step?: PageStep): Promise<SentPage<Item>> {
    const { operation, extent, read, idOf, options } = this.list;
    const { leaf } = operation;
    const page = { ...this.http.contract.size(leaf), ...request.page };
    const response = await this.http.call(operation, { ...options(), ...request, page });
    const { headers, status } = response;
    // Behind the last page, a service may have no content.
    const isEmpty = status === 204 && (extent === 'rest of a session' || before !== undefined);
    const body = isEmpty ? undefined : response.json();
    const sent = isEmpty ? [] : response.read((_, contract) => readList(body, operation, contract.items(leaf)));
    const items = isEmpty ? [] : response.read(() => read(sent));
    const fresh = new Map<string, Item>();
    let lastId: string | undefined;
    for (const item of items) {
      lastId = idOf(item);
      if (!this.seen.has(lastId)) fresh.set(lastId, item);
    }
    const paging = { body, headers, status, itemCount: sent.length, nextLink: await readNextLink(headers.link) };
    const signs = readSigns(paging);
    const progress = addPage(before?.progress, { signs, items: items.length, added: fresh.size, step });
    return { count: items.length, fresh, response, page: paging, signs, progress, lastId };
  }

  /** Requests the next page in each way, until one brings it. @throws as a failed call */
  private async advance(page: SentPage<Item>, steps: readonly PageStep[]): Promise<SentPage<Item> | Behind> {
    const outcomes: Behind[] = [];
    for (const step of steps) {
      const next = await this.request(step, page);
      if (typeof next !== 'string') return next;
      outcomes.push(next);
    }
    const last = steps.at(-1);
    if (outcomes.includes('nothing')) return 'nothing';
    if (this.isTrial(page) || !last || !isNumberStep(last)) return 'repeated';
    // Some services repeat their last page for every further number. One repeated by mistake has another answer behind it.
    const behind = stepAfter(last, page.page.itemCount);
    const further = await this.attempt(behind, page, this.requestOf(behind, page));
    const isRepeated =
      typeof further === 'string' ? further === 'repeated' : further.count > 0 && further.fresh.size === 0;
    if (isRepeated) return page.progress.step ? 'nothing' : 'repeated';
    const signs = [`another answer to ${formatStep(behind)}=${behind.value}`];
    throw this.incomplete(page, { message: 'The service sent a page of the list twice.', signs });
  }

  /** Whether the first number is tried, and the contract does not say how pages are requested. */
  private isTrial({ progress: { step } }: SentPage<Item>): boolean {
    return step === undefined && this.http.contract.next(this.list.operation.leaf).kind === 'auto';
  }

  private async request(step: PageStep, page: SentPage<Item>): Promise<SentPage<Item> | Behind> {
    const request = this.requestOf(step, page);
    const key = request.link ?? JSON.stringify(request);
    if (this.asked.has(key)) {
      if (this.list.extent !== 'list') return 'nothing';
      const message = 'The list leads back to a page that was read before.';
      throw this.incomplete(page, { message, signs: [formatStep(step)] });
    }
    this.asked.add(key);
    const next = await this.attempt(step, page, request);
    if (typeof next === 'string' || next.fresh.size > 0) return next;
    if (step.kind === 'link' || step.kind === 'token') {
      // A filter may be applied after a page was read: the one behind it has the rest. The last one may repeat what shifted,
      // which is less than the page before.
      const isLast = next.count < page.count && this.stepsFrom(next).length === 0;
      return next.count === 0 || isLast ? next : 'repeated';
    }
    return next.count === 0 ? 'nothing' : 'repeated';
  }

  private async attempt(step: PageStep, page: SentPage<Item>, request: CallOptions): Promise<SentPage<Item> | Behind> {
    for (;;) {
      try {
        return await this.fetch(page, request, step);
      } catch (error) {
        const isKnown = error instanceof PartnerctlError && isNumberStep(step) && isRejected(error);
        if (isKnown && isMissing(error)) return 'nothing';
        if (isKnown && this.isTrial(page)) return 'repeated';
        if (!this.list.recover) throw error;
        await this.list.recover(error);
      }
    }
  }

  /** @throws ShapeError for a link that leads elsewhere */
  private requestOf(step: PageStep, page: SentPage<Item>): CallOptions {
    if (step.kind !== 'link') return { page: { [step.parameter]: String(step.value) } };
    const link = pathOfLink(this.http.basePath, page.response.call.url, step.value);
    if (link !== undefined) return { link };
    const message = 'The next page of the list is not an address below the base URL.';
    throw this.incomplete(page, { message, signs: [step.path] });
  }

  incomplete(page: SentPage<Item>, problem: Problem): ShapeError {
    return incompleteList(this.http, this.list, page, problem);
  }
}
