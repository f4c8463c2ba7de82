import { readList } from '../contract/body.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ListOperation } from '../contract/operations.ts';
import { readSigns } from '../contract/page-signs.ts';
import {
  addPage,
  type Extent,
  earlierSigns,
  formatStep,
  isNumberStep,
  moreSigns,
  nextSteps,
  type PageStep,
  type ReadPage,
  statedEnd,
  stepAfter,
} from '../contract/paging.ts';
import { CredentialsError, PartnerctlError, ShapeError, withHint } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions } from './call.ts';
import type { Http } from './http.ts';
import { isRejected, ListChanged, listChanged, pagingFixes } from './page-errors.ts';
import { pathOfLink, readNextLink } from './page-request.ts';

/** A list with more pages is endless. */
const MAX_PAGES = 10_000;
/** A history may announce where it will continue, and send empty pages until then. */
const MAX_EMPTY_PAGES = 3;
/** The stated limit: assumes that no service has smaller pages, so that a shorter list that says nothing of pages is whole. */
const LEAST_PAGE = 10;

/** The customary parameters for the size of a page. */
const SIZES = ['limit', 'size', 'per_page', 'page_size', 'pageSize', 'count', 'take'];

const MISSING: ReadonlySet<number | undefined> = new Set([404, 410, 416]);
const NO_WAY = 'The list has more pages, and no request for the next one returned new items.';

/**
 * Why a list ends where it does. `stated`: the service says so. `added up`: as many different ids as a stated total. `empty
 * page`: nothing behind the last number. `silent`: nothing speaks of pages, and asking for more brought nothing. `not
 * proved`: the service rejects the question for more or, of a history, announces more than can be requested.
 */
export type End = 'stated' | 'added up' | 'empty page' | 'silent' | 'not proved';

/** A list that the service serves in pages. */
export interface PagedList<Item> {
  readonly operation: ListOperation;
  readonly extent: Extent;
  readonly options: () => CallOptions;
  /** @throws UnknownShape */
  readonly read: (items: readonly JsonObject[]) => readonly Item[];
  readonly idOf: (item: Item) => string;
  /** Whether to ask a short list for more, too, to learn whether the service allows the question. */
  readonly asksShort?: boolean;
  /** Called when a request for a further page fails: resolves to send it again, or throws. Without it, the failure is thrown. */
  readonly recover?: ((error: unknown) => Promise<void>) | undefined;
}

/** Why reading ended, and what announces more of a history than can be requested: after the last page, before it. */
interface Ending {
  readonly end: End;
  readonly more?: readonly string[];
  readonly earlier?: readonly string[];
}

export interface Page<Item> extends Partial<Ending> {
  readonly items: readonly Item[];
}

interface SentPage<Item> extends ReadPage {
  readonly count: number;
  /** What no page before had, by id. */
  readonly fresh: ReadonlyMap<string, Item>;
  readonly response: ApiResponse;
}

/** What came behind a page: nothing, or only what was read before. */
type Behind = 'nothing' | 'repeated';

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

class PageReader<Item> {
  /** The ids of the pages before: a total counts different items. */
  readonly seen = new Set<string>();
  private readonly http: Http;
  private readonly list: PagedList<Item>;
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
      if (steps.length === 0 && this.list.extent !== 'list') return yield { items, ...(await this.endOf(page)) };
      // Before more is asked for: what fails then says nothing of the list.
      yield { items };
      for (const id of page.fresh.keys()) this.seen.add(id);
      if (steps.length === 0) return yield { items: [], ...(await this.endOf(page)) };
      if (page.progress.pages >= MAX_PAGES) throw this.incomplete(page, 'The list is endless.', [`${MAX_PAGES} pages`]);
      const next = await this.advance(page, steps);
      if (typeof next === 'string') return yield { items: [], ...(await this.endOf(page, next)) };
      page = next;
    }
  }

  private stepsFrom(page: SentPage<Item>): readonly PageStep[] {
    const { extent, operation } = this.list;
    if (extent !== 'list' && page.progress.emptyPages > MAX_EMPTY_PAGES) return [];
    return nextSteps(this.http.contract.next(operation.leaf), page, extent);
  }

  /** @throws as a failed call; ShapeError for a response that is no list */
  private async fetch(
    before: SentPage<Item> | undefined,
    request: CallOptions,
    step?: PageStep,
  ): Promise<SentPage<Item>> {
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
    throw this.incomplete(page, 'The service sent a page of the list twice.', signs);
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
      throw this.incomplete(page, 'The list leads back to a page that was read before.', [formatStep(step)]);
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
        if (isKnown && MISSING.has(error.info.status)) return 'nothing';
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
    throw this.incomplete(page, 'The next page of the list is not an address below the base URL.', [step.path]);
  }

  /**
   * Decides why a list ends after a page: what speaks of more, and what says that this is all.
   * @param behind what came instead of a next page; undefined if none was requested
   * @throws ShapeError if more of a list is announced; ListChanged if it changed meanwhile
   */
  private async endOf(page: SentPage<Item>, behind?: Behind): Promise<Ending> {
    const { extent, operation, asksShort = false } = this.list;
    const isList = extent === 'list';
    const { kind } = this.http.contract.next(operation.leaf);
    const isSetWhole = kind === 'none' && this.http.contract.leaf(`${operation.leaf}.next`).source === 'override';
    const [more, earlier] = [moreSigns(page, extent, isSetWhole), earlierSigns(page, extent)];
    const { hasShifted, hasShrunk, hasHole } = page.progress;
    if (isList && (hasShrunk || (hasShifted && more.length > 0))) throw listChanged(operation, page.response);
    if (isList && more.length > 0) throw this.incomplete(page, NO_WAY, more);
    // Nothing behind the last page has what is missing before it.
    if (hasHole && more.length > 0) return { end: 'not proved', earlier: [...earlier, ...more] };
    if (more.length > 0 || earlier.length > 0) return { end: 'not proved', more, earlier };
    const stated = statedEnd(page, extent);
    if (stated) return { end: stated };
    // The contract says where the next page is announced, and it is not.
    if (kind === 'none' || kind === 'link' || kind === 'token') return { end: 'stated' };
    if (behind === 'nothing') return { end: 'empty page' };
    if (!isList || (page.count < LEAST_PAGE && !asksShort)) return { end: 'silent' };
    return { end: await this.askForMore(page) };
  }

  /** Asks a list that says nothing of pages for more, in two ways. @throws ShapeError if there are other items */
  private async askForMore(page: SentPage<Item>): Promise<End> {
    const { count } = page;
    const of = (size: number) => {
      const sizes = Object.fromEntries(SIZES.map((name) => [name, String(size)]));
      return { ...sizes, ...this.http.contract.size(this.list.operation.leaf) };
    };
    const [offset, half] = [String(count), Math.max(1, Math.floor(count / 2))];
    const answers = [
      await this.question(page, { page: '1', ...of(count + 1) }),
      // Where pages count from 0, page 1 of a larger size begins too late: page 2 of half the size begins right behind.
      await this.question(page, { offset, skip: offset, start: offset, page: '2', ...of(half) }),
    ];
    // Neither says enough alone: a service that takes no size, and counts from 0, has its second page at the first question.
    return answers.includes('rejected') ? 'not proved' : 'silent';
  }

  private async question(
    page: SentPage<Item>,
    parameters: Readonly<Record<string, string>>,
  ): Promise<Behind | 'rejected'> {
    try {
      const answer = await this.fetch(page, { page: parameters });
      if (answer.count === 0) return 'nothing';
      if (answer.fresh.size === 0) return 'repeated';
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      const { status, fromGateway } = error.info;
      if (isRejected(error)) return MISSING.has(status) ? 'nothing' : 'rejected';
      // A service may also forbid what it does not know. That does not make the list forbidden.
      if (error instanceof CredentialsError && status === 403 && !fromGateway) return 'rejected';
      const hint = `The list was asked for more, because nothing in it speaks of pages.\n${pagingFixes(this.list.operation.leaf)}`;
      throw withHint(error, { hint });
    }
    const message = `The list has more than the ${page.count} items of its first page.`;
    throw this.incomplete(page, message, [`other items for page=${parameters.page} and the like`], true);
  }

  /**
   * Returns the error for a list that cannot be read to its end.
   * @param signs what speaks of more: where, not its value
   * @param isMore whether more than the first page was seen, as where another one was read
   */
  private incomplete(page: SentPage<Item>, message: string, signs: readonly string[], isMore = false): ShapeError {
    const { leaf } = this.list.operation;
    const { call, status, requestId } = page.response;
    const { step } = page.progress;
    const [tried = step] = step ? [] : this.stepsFrom(page);
    const { kind } = this.http.contract.next(leaf);
    const next =
      kind === 'none' ? kind : tried && (step ? formatStep(tried) : formatStep(tried).replace(/[^:]*$/, '<parameter>'));
    const seen = signs.join(', ');
    return new ShapeError(message, {
      why: `The service responded to ${call.name} with ${status} and announces more with ${seen}.`,
      hint: `What was read is not the whole list. If it changed meanwhile, run the command again.\n${pagingFixes(leaf, next, !isMore && step === undefined)}`,
      ...{ status, requestId },
      details: { operation: call.operation.name, leaf: `${leaf}.next`, seen },
    });
  }
}
