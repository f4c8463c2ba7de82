import type { NextValue } from './leaf-value.ts';
import { type NumberSign, type PageResponse, readSigns, type Sign, type TokenSign, valueAt } from './page-signs.ts';

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
  /** Whether the user set `next`, and not a document. */
  readonly isOverride: boolean;
  /** A list, a session from its first message on, or what comes after a message, for which totals are meaningless. */
  readonly extent: 'list' | 'session' | 'rest of a session';
  /** Whether what comes after an item can be requested by its id alone. */
  readonly takesMessage: boolean;
}

/** What a page says about the next one. */
export type Verdict =
  /** Nothing speaks of more. `isStated`: the service says so. `mayContinue`: it has as many items as a page may have. */
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
 * Decides how a list continues after a page: as the contract says, or by everything in its body and its headers that speaks of
 * pages. `whole` only if nothing speaks of more than was read.
 * @param lastId the id of the last item
 */
export function decideNext(page: PageResponse, progress: Progress, rule: PagingRule, lastId?: string): Verdict {
  const { next, extent, isOverride, takesMessage } = rule;
  if (next.kind === 'none') return { kind: 'whole', isStated: true, mayContinue: false };
  const found = decideBySigns(readSigns(page), page.itemCount, progress, extent);
  if (next.kind === 'auto')
    return extent === 'list' ? found : ofHistory(found, progress, takesMessage ? lastId : undefined);
  const isCertain = found.kind === 'unexplained' || (found.kind === 'next' && found.isCertain);
  const steps = stepsBy(next, page, progress, lastId);
  if (steps.length > 0) return { kind: 'next', steps, isCertain, signs: found.kind === 'whole' ? [] : found.signs };
  if (isCertain && !(isOverride && progress.step !== undefined)) return { kind: 'unexplained', signs: found.signs };
  return { kind: 'whole', isStated: found.kind === 'whole' && found.isStated, mayContinue: false };
}

function decideBySigns(
  signs: readonly Sign[],
  itemCount: number,
  progress: Progress,
  extent: PagingRule['extent'],
): Verdict {
  const isFirst = progress.step === undefined;
  const { open, isStated } = weigh(signs, progress, extent);
  const [link] = ofKind(signs, 'link');
  const tokens = open.length > 0 || !isStated ? ofKind(signs, 'token') : [];
  const announced = link ? [link] : tokens;
  const isFull = !isStated && fullSizes(signs, itemCount).length > 0;
  // After a message, these may be the pages of the whole session: then the next one has nothing new.
  const further = isStated ? [] : ofKind(signs, 'pages').filter(({ value }) => value > progress.pages);
  const isNumbered = itemCount > 0 && open.length + further.length > 0;
  const numbered = isNumbered ? numberSteps(signs, progress, itemCount) : [];
  const steps = announced.length > 0 ? announcedSteps(announced, progress) : numbered;
  if (steps.length > 0) {
    const isCertain = open.length > 0 || announced.some((sign) => sign.kind === 'link' || sign.isNext);
    const speaking = pathsOf(announced);
    return { kind: 'next', steps, isCertain, signs: [...new Set([...speaking, ...open])] };
  }
  if (open.length > 0) return { kind: 'unexplained', signs: open };
  return { kind: 'whole', isStated, mayContinue: isFirst && !isStated && (isFull || ROUND.has(itemCount)) };
}

/**
 * Returns what speaks of more than was read, and whether the service says that there is no more. Of a list, a total that is too
 * small is also open: it counts something else, or the list has shrunk meanwhile.
 */
function weigh(signs: readonly Sign[], { items, pages, step }: Progress, extent: PagingRule['extent']) {
  const isRest = extent === 'rest of a session';
  const totals = isRest ? [] : ofKind(signs, 'total');
  const pageTotals = isRest ? [] : ofKind(signs, 'pages');
  const unread = [
    ...totals
      .filter(({ value }) => value > items || (extent === 'list' && value < items))
      .map(({ path, value }) => `${path}: ${value}, and ${items} read`),
    ...pageTotals
      .filter(({ value }) => value > pages)
      .map(({ path, value }) => `${path}: ${value}, and ${pages} of them read`),
  ];
  // The first page of a session may say that others come before.
  const earlier = extent === 'session' && step === undefined ? ofKind(signs, 'earlier') : [];
  const isCounted = totals.length + pageTotals.length > 0 && unread.length === 0;
  const isEnded = ofKind(signs, 'end').length > 0 && !ofKind(signs, 'token').some(({ isNext }) => isNext);
  return {
    open: [...pathsOf([...ofKind(signs, 'more'), ...earlier]), ...unread],
    isStated: isCounted || isEnded || ofKind(signs, 'last').length > 0,
  };
}

function pathsOf(signs: readonly Sign[]): readonly string[] {
  return signs.map(({ path }) => path);
}

function ofKind<Kind extends Sign['kind']>(signs: readonly Sign[], kind: Kind) {
  return signs.filter((sign): sign is Extract<Sign, { readonly kind: Kind }> => sign.kind === kind);
}

/** Returns the page sizes that a page fills. A bare `size` counts only beside a page number. */
function fullSizes(signs: readonly Sign[], itemCount: number): readonly Sign[] {
  const isNumbered = ofKind(signs, 'page').length > 0;
  return ofKind(signs, 'size').filter(
    ({ value, name }) => value > 0 && itemCount >= value && (name !== 'size' || isNumbered),
  );
}

/** After the requests that a page announces, a history is read on after its last message. */
function ofHistory(found: Verdict, { step, emptyPages }: Progress, lastId: string | undefined): Verdict {
  if (found.kind === 'whole') return found;
  const announced = found.kind === 'next' ? found.steps : [];
  if (announced[0]?.kind === 'link') return found;
  if (emptyPages > MAX_EMPTY_HISTORY_PAGES) return { kind: 'whole', isStated: false, mayContinue: false };
  const own: readonly PageStep[] = lastId === undefined ? [] : [{ kind: 'message', value: lastId }];
  const steps = step?.kind === 'message' ? [...own, ...announced] : [...announced, ...own];
  if (steps.length === 0) return found;
  return { kind: 'next', steps, isCertain: found.kind === 'unexplained' || found.isCertain, signs: found.signs };
}

/** Returns the requests by a link or by tokens: under the parameter that worked, or else under each that may take one. */
function announcedSteps(signs: readonly Extract<Sign, { kind: 'link' | 'token' }>[], { step }: Progress) {
  const steps = signs.flatMap((sign): readonly PageStep[] => {
    const { kind, path, value } = sign;
    if (kind === 'link') return [{ kind, path, value }];
    return tokenParameters(sign).map((parameter) => ({ kind, path, parameter, value }));
  });
  const known = step?.kind === 'token' ? step.parameter : undefined;
  const same = steps.filter((each) => each.kind === 'token' && each.parameter === known);
  return distinct(same.length > 0 ? same : steps);
}

/** Returns the requests by page number or offset. The first page is page 0 or 1, and begins at 0 or 1. */
function numberSteps(signs: readonly Sign[], { step, pages }: Progress, itemCount: number): readonly PageStep[] {
  if (step?.kind === 'page' || step?.kind === 'offset') return [following(step, itemCount)];
  if (pages > 1) return [];
  const sign = ofKind(signs, 'page').find(isStart) ?? ofKind(signs, 'offset')[0];
  if (sign === undefined) return [];
  const { kind, value } = sign;
  // An offset that is not that of this page is where the next one begins.
  const steps = [ownParameter(sign), kind].map((parameter) => ({ kind, parameter, value }));
  return distinct(isStart(sign) ? steps.map((each) => following(each, itemCount)) : steps);
}

function following(step: Extract<PageStep, { kind: 'page' | 'offset' }>, itemCount: number): PageStep {
  return { ...step, value: step.value + (step.kind === 'page' ? 1 : itemCount) };
}

function isStart({ value }: NumberSign): boolean {
  return value === 0 || value === 1;
}

/** Returns the parameter with the name of a sign: `cursor` for `next_cursor`, `page` for `currentPage`. */
function ownParameter({ key, kind }: Sign): string {
  const bare = key.replace(/^(next|current)[_-]?(?=.)/i, '');
  if (kind !== 'token' && /^(current|number)$/i.test(bare)) return kind;
  return /^[A-Z]/.test(key) ? bare : bare.charAt(0).toLowerCase() + bare.slice(1);
}

/** Returns the parameters that may take a token: one of its own name, and the conventional one. */
function tokenParameters(sign: TokenSign): readonly string[] {
  const { key, name, isNumber } = sign;
  if (/^(page)?endcursor$/.test(name)) return ['after', 'cursor'];
  if (name.startsWith('last')) return ['after_id', 'after'];
  const own = ownParameter(sign);
  // AWS sends NextToken, and takes NextToken.
  if (/^token$/i.test(own)) return [key, own];
  if (isNumber) return [own, /offset|skip|start/.test(name) ? 'offset' : 'page'];
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
    const value = textAt(next.source, page);
    const path = next.source.join('.');
    return value === undefined ? [] : [{ ...next, path, value }];
  }
  const { kind, parameter } = next;
  if (page.itemCount === 0 || (kind === 'after' && lastId === undefined)) return [];
  if (kind === 'after') return [{ kind, parameter, value: lastId ?? '' }];
  if (step?.kind === kind) return [following(step, page.itemCount)];
  const first = ofKind(readSigns(page), kind).find(isStart)?.value;
  // Page 1 repeats the first page, or is the second one if pages count from 0.
  const firsts = first !== undefined ? [first] : kind === 'page' ? [0, 1] : [0];
  return firsts.map((value) => following({ kind, parameter, value }, page.itemCount));
}

/** Returns the link or token at a path; undefined if there is none. */
function textAt(path: readonly string[], page: PageResponse): string | undefined {
  const value = valueAt(path, page);
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
  return isText && value !== '' && !(Number(value) < 0) ? String(value) : undefined;
}

/** Whether a list ends with a page after which no request brought a next one. Otherwise it is not whole. */
export function isEnd(
  { isCertain }: Extract<Verdict, { kind: 'next' }>,
  failures: readonly Failure[],
  { step }: Progress,
  { next, isOverride }: PagingRule,
): boolean {
  const isProved = step !== undefined;
  if (next.kind !== 'auto') return !isCertain || (isOverride && isProved);
  return !isCertain && (isProved || failures.every((failure) => failure === 'empty'));
}
