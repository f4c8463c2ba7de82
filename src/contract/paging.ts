import type { NextValue } from './contract.ts';
import { isNext, type PageResponse, readSigns, type Sign, valueAt } from './page-signs.ts';
import { isTextOrNumber } from './values.ts';

/** How a page is requested: by a link, or by a query parameter and its value. */
export type PageStep =
  | { readonly kind: 'link'; readonly path: string; readonly value: string }
  | { readonly kind: 'token'; readonly path: string; readonly parameter: string; readonly value: string }
  | { readonly kind: 'page' | 'offset'; readonly parameter: string; readonly value: number }
  | { readonly kind: 'after'; readonly parameter: string; readonly value: string }
  /** A history from a message on (spec §4.4): the contract has the parameter. */
  | { readonly kind: 'message'; readonly value: string };

/** What was read of a list, with the page that a verdict is about. */
export interface Progress {
  readonly items: number;
  readonly pages: number;
  /** How many pages in a row had no items. */
  readonly emptyPages: number;
  /** How this page was requested; undefined for the first one. */
  readonly step: PageStep | undefined;
}

export interface PagingRule {
  readonly next: NextValue;
  /** A list, a session from its first message on, or what comes after a message, for which totals are meaningless. */
  readonly extent: 'list' | 'session' | 'rest of a session';
  /** Whether what comes after an item can be requested by its id alone. */
  readonly takesMessage: boolean;
}

/** What a page says about the next one. */
export type Verdict =
  /** Nothing speaks of more. `isStated`: the service says so. `mayContinue`: it is as long as a page may be. */
  | { readonly kind: 'whole'; readonly isStated: boolean; readonly mayContinue: boolean }
  /** Requests to try in turn. `isCertain`: there is more, so that an empty answer proves nothing. */
  | {
      readonly kind: 'next';
      readonly steps: readonly PageStep[];
      readonly isCertain: boolean;
      readonly signs: readonly string[];
    }
  /** There is more, and nothing says how to request it. */
  | { readonly kind: 'unexplained'; readonly signs: readonly string[] };

export type Failure = 'empty' | 'repeated' | 'rejected';

/** A history may announce where it will continue, and send empty pages until then. */
const MAX_EMPTY_HISTORY_PAGES = 3;
const MAX_STEPS = 2;
/** The numbers of items that a page usually has at most. */
const ROUND = new Set([10, 20, 25, 50, 100, 200, 250, 500, 1_000]);

/** Formats how a page is requested as a value of `<list>.next`. */
export function formatStep(step: PageStep): string {
  if (step.kind === 'message') return 'auto';
  if (step.kind === 'link') return step.path === 'header.link' ? 'header:link' : `link:${step.path}`;
  return step.kind === 'token' ? `token:${step.path}:${step.parameter}` : `${step.kind}:${step.parameter}`;
}

/**
 * Decides how a list continues after a page: as the contract says, or by everything in its body and its headers that
 * speaks of pages. `whole` only if nothing speaks of more than was read.
 * @param lastId the id of the last item
 */
export function decideNext(page: PageResponse, progress: Progress, rule: PagingRule, lastId?: string): Verdict {
  const { next } = rule;
  if (next.kind === 'none') return { kind: 'whole', isStated: true, mayContinue: false };
  const found = decideBySigns(page, progress, rule, lastId);
  if (next.kind === 'auto') return found;
  const isCertain = found.kind === 'unexplained' || (found.kind === 'next' && found.isCertain);
  const steps = stepsBy(next, page, progress, lastId);
  if (steps.length > 0) return { kind: 'next', steps, isCertain, signs: found.kind === 'whole' ? [] : found.signs };
  if (isCertain) return { kind: 'unexplained', signs: found.signs };
  return { kind: 'whole', isStated: found.kind === 'whole' && found.isStated, mayContinue: false };
}

function decideBySigns(page: PageResponse, progress: Progress, rule: PagingRule, lastId: string | undefined): Verdict {
  const { itemCount } = page;
  const signs = readSigns(page);
  const { open, isStated } = weigh(signs, progress, rule.extent);
  const links = ofKind(signs, 'link').slice(0, 1);
  const announced = links.length > 0 ? links : open.length > 0 || !isStated ? ofKind(signs, 'token') : [];
  // After a message, these may be the pages of the whole session: then the next one has nothing new.
  const mayFollow = !isStated && ofKind(signs, 'pages').some(({ value }) => Number(value) > progress.pages);
  const isNumbered = announced.length === 0 && itemCount > 0 && (open.length > 0 || mayFollow);
  const found = isNumbered ? numberSteps(signs, progress, itemCount) : announcedSteps(announced, progress);
  if (found.length === 0 && open.length === 0) {
    const isFull = ROUND.has(itemCount) || ofKind(signs, 'size').some(({ value }) => value === itemCount);
    const mayContinue = isFull && itemCount > 0 && !isStated && progress.step === undefined;
    return { kind: 'whole', isStated, mayContinue };
  }
  const isHistory = rule.extent !== 'list' && links.length === 0;
  if (isHistory && progress.emptyPages > MAX_EMPTY_HISTORY_PAGES)
    return { kind: 'whole', isStated: false, mayContinue: false };
  const steps = isHistory && rule.takesMessage ? withMessage(found, progress, lastId) : found;
  if (steps.length === 0) return { kind: 'unexplained', signs: open };
  const isCertain = open.length > 0 || announced.some((sign) => sign.kind === 'link' || isNext(sign));
  return { kind: 'next', steps, isCertain, signs: [...new Set([...pathsOf(announced), ...open])] };
}

/** After the requests that a page announces, a history is read on after its last message. */
function withMessage(found: readonly PageStep[], { step }: Progress, lastId: string | undefined): readonly PageStep[] {
  if (lastId === undefined) return found;
  const own: PageStep = { kind: 'message', value: lastId };
  return step?.kind === 'message' ? [own, ...found] : [...found, own];
}

/**
 * Returns what speaks of more than was read, and whether the service says that there is no more. Of a list, a total
 * that is too small is also open: it counts something else, or the list has shrunk meanwhile.
 */
function weigh(signs: readonly Sign[], { items, pages, step }: Progress, extent: PagingRule['extent']) {
  const counts = extent === 'rest of a session' ? [] : [...ofKind(signs, 'total'), ...ofKind(signs, 'pages')];
  const unread = counts.flatMap(({ kind, path, value }) => {
    const read = kind === 'total' ? items : pages;
    const isUnread = Number(value) > read || (kind === 'total' && extent === 'list' && Number(value) < read);
    return isUnread ? [`${path}: ${value}, and ${read} read`] : [];
  });
  // The first page of a session may say that others come before.
  const earlier = extent === 'session' && step === undefined ? ofKind(signs, 'earlier') : [];
  const isCounted = counts.length > 0 && unread.length === 0;
  const isEnded = ofKind(signs, 'end').length > 0 && !ofKind(signs, 'token').some(isNext);
  return {
    open: [...pathsOf([...ofKind(signs, 'more'), ...earlier]), ...unread],
    isStated: isCounted || isEnded || ofKind(signs, 'last').length > 0,
  };
}

function pathsOf(signs: readonly Sign[]): readonly string[] {
  return signs.map(({ path }) => path);
}

function ofKind(signs: readonly Sign[], kind: Sign['kind']): readonly Sign[] {
  return signs.filter((sign) => sign.kind === kind);
}

/** Returns the requests by a link or by tokens: under the parameter that worked, or each that may take one. */
function announcedSteps(signs: readonly Sign[], { step }: Progress): readonly PageStep[] {
  const steps = signs.flatMap((sign): readonly PageStep[] => {
    const { kind, path } = sign;
    const value = String(sign.value);
    if (kind === 'link') return [{ kind, path, value }];
    return parametersFor(sign).map((parameter) => ({ kind: 'token', path, parameter, value }));
  });
  const same = steps.filter(
    (each) => each.kind === 'token' && step?.kind === 'token' && each.parameter === step.parameter,
  );
  return distinct(same.length > 0 ? same : steps);
}

/** Returns the requests by page number or offset. The first page is page 0 or 1, and begins at 0 or 1. */
function numberSteps(signs: readonly Sign[], { step, pages }: Progress, itemCount: number): readonly PageStep[] {
  if (step?.kind === 'page' || step?.kind === 'offset') return [following(step, itemCount)];
  const page = ofKind(signs, 'page').find(isStart);
  const sign = page ?? ofKind(signs, 'offset')[0];
  if (pages > 1 || sign === undefined) return [];
  const kind = page ? 'page' : 'offset';
  const steps = parametersFor(sign).map((parameter) => ({ kind, parameter, value: Number(sign.value) }) as const);
  // An offset that is not that of this page is where the next one begins.
  return distinct(isStart(sign) ? steps.map((each) => following(each, itemCount)) : steps);
}

function following(step: Extract<PageStep, { kind: 'page' | 'offset' }>, itemCount: number): PageStep {
  return { ...step, value: step.value + (step.kind === 'page' ? 1 : itemCount) };
}

function isStart({ value }: Sign): boolean {
  return value === 0 || value === 1;
}

/** Returns the parameters that may take a sign: its own name (`cursor` for `next_cursor`), and the conventional one. */
function parametersFor({ kind, key, name, value }: Sign): readonly string[] {
  const bare = key.replace(/^(next|current)[_-]?(?=.)/i, '');
  const own = /^[A-Z]/.test(key) ? bare : bare.charAt(0).toLowerCase() + bare.slice(1);
  if (kind !== 'token') return [/^(current|number)$/i.test(bare) ? kind : own, kind];
  if (/^(page)?endcursor$/.test(name)) return ['after', 'cursor'];
  if (name.startsWith('last')) return ['after_id', 'after'];
  // AWS sends NextToken, and takes NextToken.
  if (/^token$/i.test(own)) return [key, own];
  if (typeof value === 'number') return [own, /offset|skip|start/.test(name) ? 'offset' : 'page'];
  return [own, /cursor/i.test(own) ? 'after' : 'cursor'];
}

function distinct(steps: readonly PageStep[]): readonly PageStep[] {
  return [...new Map(steps.map((step) => [formatStep(step), step])).values()].slice(0, MAX_STEPS);
}

/** Returns the requests for the next page as the contract says; none if the page has nothing to request one with. */
function stepsBy(
  next: Exclude<NextValue, { readonly kind: 'auto' } | { readonly kind: 'none' }>,
  page: PageResponse,
  { step }: Progress,
  lastId: string | undefined,
): readonly PageStep[] {
  if (next.kind === 'link' || next.kind === 'token') {
    const value = valueAt(next.source, page);
    const isThere = isTextOrNumber(value) && !(Number(value) < 0);
    return isThere ? [{ ...next, path: next.source.join('.'), value: String(value) }] : [];
  }
  const { kind, parameter } = next;
  if (page.itemCount === 0) return [];
  if (kind === 'after') return lastId === undefined ? [] : [{ kind, parameter, value: lastId }];
  if (step?.kind === kind) return [following(step, page.itemCount)];
  const first = ofKind(readSigns(page), kind).find(isStart)?.value;
  // Page 1 repeats the first page, or is the second one if pages count from 0.
  const firsts = first !== undefined ? [Number(first)] : kind === 'page' ? [0, 1] : [0];
  return firsts.map((value) => following({ kind, parameter, value }, page.itemCount));
}
