import { readList } from '../contract/body.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ListOperation } from '../contract/operations.ts';
import type { PageResponse } from '../contract/page-signs.ts';
import {
  decideNext,
  type Failure,
  formatStep,
  type PageStep,
  type PagingRule,
  type Progress,
  type Verdict,
} from '../contract/paging.ts';
import { CredentialsError, ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions } from './call.ts';
import type { Http } from './http.ts';
import { isRejected, pathOfLink, readNextLink } from './page-request.ts';

/** A list with more pages is endless. */
const MAX_PAGES = 10_000;

const MISSING: ReadonlySet<number | undefined> = new Set([404, 410, 416]);

/** A list that the service serves in pages. */
export interface PagedList<Item> {
  readonly operation: ListOperation;
  readonly extent: PagingRule['extent'];
  /** Called before each page. @param after the message after which a history is to be read on */
  readonly options: (after?: string) => CallOptions;
  /** @throws UnknownShape */
  readonly read: (items: readonly JsonObject[]) => readonly Item[];
  /** What tells items apart. */
  readonly idOf: (item: Item) => string;
}

export interface Page<Item> {
  /** Without those of the page before, and of the first page. */
  readonly items: readonly Item[];
  /** `next`: requested when the consumer asks for it, and may have nothing new. `unexplained`: only of a history. */
  readonly verdict: Verdict;
}

interface SentPage<Item> {
  /** How it was requested; undefined for the first one. */
  readonly step: PageStep | undefined;
  readonly items: readonly Item[];
  readonly ids: readonly string[];
  readonly fresh: readonly Item[];
  readonly response: ApiResponse;
  readonly paging: PageResponse;
}

type NextVerdict = Extract<Verdict, { readonly kind: 'next' }>;

const NO_WAY = 'The list continues, and no request for its next page brings anything new.';

/** Returns the commands that say how a list, or a history, continues. @param next the likeliest value to set */
export function pagingFixes(leaf: string, next = 'page:<parameter>'): string {
  return `If you know how the next page is requested, run:
partnerctl contract set ${leaf} '${next}' (or 'offset:<parameter>', 'link:<path>', 'token:<path>:<parameter>')
If what was read is all, run: partnerctl contract set ${leaf} none`;
}

/** Reads a list page by page. @throws PartnerctlError; ShapeError unless it is read to its end, or is a history */
export function readPages<Item>(http: Http, list: PagedList<Item>): AsyncGenerator<Page<Item>, void, void> {
  return new PageReader(http, list).read();
}

class PageReader<Item> {
  private readonly http: Http;
  private readonly list: PagedList<Item>;
  private readonly rule: PagingRule;
  private readonly isList: boolean;
  /** Ids of the first page and of the last: a list that starts again repeats those, one that grows meanwhile these. */
  private readonly seen = { first: new Set<string>(), last: new Set<string>() };
  private first: ApiResponse | undefined;

  constructor(http: Http, list: PagedList<Item>) {
    const { leaf } = list.operation;
    const takesCursor = http.contract.parameter('messages.history.after_message_id') !== undefined;
    this.http = http;
    this.list = list;
    this.isList = list.extent === 'list';
    this.rule = { next: http.contract.next(leaf), extent: list.extent, takesMessage: !this.isList && takesCursor };
  }

  async *read(): AsyncGenerator<Page<Item>, void, void> {
    let progress: Progress = { items: 0, pages: 0, emptyPages: 0, step: undefined };
    let page = await this.fetch(undefined, this.list.options());
    for (;;) {
      const { items, ids, fresh, step, paging } = page;
      progress = {
        items: progress.items + fresh.length,
        pages: progress.pages + 1,
        emptyPages: items.length === 0 ? progress.emptyPages + 1 : 0,
        step,
      };
      if (progress.pages > MAX_PAGES) throw this.refuse(page, 'The list is endless.', [`${MAX_PAGES} pages`]);
      const verdict = decideNext(paging, progress, this.rule, ids.at(-1));
      if (this.isList && verdict.kind === 'unexplained') throw this.refuse(page, NO_WAY, verdict.signs);
      if (this.isList && verdict.kind === 'whole' && verdict.mayContinue) await this.askOnceMore(page);
      yield { items: fresh, verdict };
      if (verdict.kind !== 'next') return;
      this.remember(page);
      const next = await this.requestNext(page, verdict.steps);
      if (!('fresh' in next)) {
        const end = this.endAfter(page, verdict, progress, next);
        if (end) yield { items: [], verdict: end };
        return;
      }
      page = next;
    }
  }

  /** @throws as a failed call; ShapeError for a response that is no list */
  private async fetch(step: PageStep | undefined, options: CallOptions): Promise<SentPage<Item>> {
    const { operation, extent, read, idOf } = this.list;
    const response = await this.http.call(operation, options);
    const { headers, status } = response;
    // Behind the last page, a service may have no content.
    const isEmpty = status === 204 && (extent === 'rest of a session' || this.first !== undefined);
    this.first ??= response;
    const body = isEmpty ? undefined : response.json();
    const sent = isEmpty
      ? []
      : response.read((_, contract) => readList(body, operation, contract.items(operation.leaf)));
    const items = isEmpty ? [] : response.read(() => read(sent));
    const { first, last } = this.seen;
    const ids = items.map(idOf);
    const isSeen = (id = '') => last.has(id) || first.has(id);
    const fresh = items.filter((_, index) => !isSeen(ids[index]));
    const nextLink = await readNextLink(headers.link);
    return { step, items, ids, fresh, response, paging: { body, headers, itemCount: sent.length, nextLink } };
  }

  private remember({ ids }: SentPage<Item>): void {
    this.seen.last = new Set(ids);
    if (this.seen.first.size === 0) this.seen.first = this.seen.last;
  }

  /** Requests the next page in each way, until one brings it. @throws as a failed call */
  private async requestNext(
    page: SentPage<Item>,
    steps: readonly PageStep[],
  ): Promise<SentPage<Item> | readonly Failure[]> {
    const failures: Failure[] = [];
    for (const step of steps) {
      const next = await this.tryStep(step, page);
      if (typeof next !== 'string') return next;
      failures.push(next);
    }
    return failures;
  }

  /** @throws ShapeError for a link that leads elsewhere */
  private requestOf(step: PageStep, page: SentPage<Item>): CallOptions {
    const { http, list } = this;
    if (step.kind === 'message') return list.options(step.value);
    if (step.kind !== 'link') return this.requestWith({ [step.parameter]: String(step.value) });
    const link = pathOfLink(http.basePath, page.response.call.url, step.value);
    if (link !== undefined) return { ...list.options(), link };
    throw this.refuse(page, 'The next page of the list is not an address below the base URL.', [step.path]);
  }

  /** Returns the first request with further parameters, where this operation has its parameters. */
  private requestWith(parameters: Readonly<Record<string, string>>): CallOptions {
    const { list, first } = this;
    if (first?.call.wire.method !== 'GET') return { ...list.options(), more: parameters };
    const { pathname, searchParams } = new URL(first.call.url);
    for (const [name, value] of Object.entries(parameters)) searchParams.set(name, value);
    return { ...list.options(), link: `${pathname}?${searchParams}` };
  }

  /** Requests a page. @returns why it is not the next one, if it is not @throws as a failed call */
  private async tryStep(step: PageStep, page: SentPage<Item>): Promise<SentPage<Item> | Failure> {
    if (step.kind === page.step?.kind && step.value === page.step.value) return 'repeated';
    try {
      const next = await this.fetch(step, this.requestOf(step, page));
      // A filter may be applied after a page was read: the next one has the rest.
      if (next.items.length === 0) return step.kind === 'link' || step.kind === 'token' ? next : 'empty';
      return next.fresh.length > 0 ? next : 'repeated';
    } catch (error) {
      if (step.kind === 'link' || !isRejected(error)) throw error;
      return MISSING.has(error.info.status) ? 'empty' : 'rejected';
    }
  }

  /** Asks a list for more that has as many items as a page usually has. @throws ShapeError if there are others */
  private async askOnceMore(page: SentPage<Item>): Promise<void> {
    const { length } = page.items;
    this.remember(page);
    try {
      const request = this.requestWith({ offset: `${length}`, skip: `${length}`, page: '2' });
      const { fresh } = await this.fetch(undefined, request);
      if (fresh.length === 0) return;
    } catch (error) {
      // A service may also forbid what it does not know. That does not make the list forbidden.
      const isForbidden = error instanceof CredentialsError && !error.info.fromGateway;
      if (!isForbidden && !isRejected(error)) throw error;
      return this.warn(length);
    }
    const message = `The list has more than the ${length} items of its first page.`;
    throw this.refuse(page, message, ['other items for offset, skip, and page']);
  }

  /** Decides what it means that no next page came. @returns what a history lacks @throws ShapeError if a list lacks it */
  private endAfter(
    page: SentPage<Item>,
    verdict: NextVerdict,
    progress: Progress,
    failures: readonly Failure[],
  ): Verdict | undefined {
    const { steps, signs, isCertain } = verdict;
    const [step] = steps;
    if (!this.isList) {
      const isMissing = isCertain && page.items.length > 0 && step?.kind !== 'link';
      return isMissing ? { kind: 'unexplained', signs } : undefined;
    }
    const isTried = this.rule.next.kind !== 'auto' || page.step !== undefined;
    if (!isCertain && (isTried || failures.every((failure) => failure === 'empty'))) {
      if (!page.step && failures.every((failure) => failure === 'rejected')) this.warn(progress.items);
      return undefined;
    }
    const next = step && formatStep(step);
    throw this.refuse(page, NO_WAY, signs, page.step ? next : next?.replace(/[^:]*$/, '<parameter>'));
  }

  /** Warns of a list that may go on, where the service does not let the tool find out. */
  private warn(count: number): void {
    const { leaf, resource } = this.list.operation;
    this.http.warn(
      `The list of ${resource}s has ${count} items and may not be whole: nothing in it speaks of pages. If it is whole, run: partnerctl contract set ${leaf}.next none`,
    );
  }

  /** Returns the error for a list that cannot be read to its end. @param signs what speaks of more: where, not its value */
  private refuse(
    { response: { call, status, requestId } }: SentPage<Item>,
    message: string,
    signs: readonly string[],
    next?: string,
  ): ShapeError {
    const { leaf, name } = this.list.operation;
    const seen = signs.join(', ') || 'nothing more';
    return new ShapeError(message, {
      why: `The service responded to ${call.name} with ${status} and announces more with ${seen}.`,
      hint: `What was read is not the whole list. If it changed meanwhile, run the command again.\n${pagingFixes(`${leaf}.next`, next)}`,
      status,
      requestId,
      details: { operation: name, leaf: `${leaf}.next`, seen },
    });
  }
}
