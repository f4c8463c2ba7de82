import type { NextValue } from './leaf-value.ts';
import { type PageResponse, readSigns, type Sign } from './page-signs.ts';
import {
  announcedSteps,
  isStrategy,
  numberSteps,
  numbersOf,
  type PageStep,
  type PagingStrategy,
  type Progress,
  stepsBy,
} from './page-steps.ts';

/** How a list may be read. */
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
  /** There is more, and nothing says how to request it. `isEarlier`: only before the first page. */
  | { readonly kind: 'unexplained'; readonly signs: readonly string[]; readonly isEarlier: boolean };

/** Why a page is not the next one. */
export type Failure = 'empty' | 'repeated' | 'rejected';

/** A history may announce where it will continue, and send empty pages until then. */
const MAX_EMPTY_HISTORY_PAGES = 3;
/** The numbers of items that a page usually has at most. */
const ROUND = new Set([10, 20, 25, 50, 100, 200, 250, 500, 1_000]);

/**
 * Decides how a list continues after a page: as the contract says, or by everything in its body and its headers that speaks of
 * pages. `whole` only if nothing speaks of more than was read.
 * @param lastId the id of the last item
 */
export function decideNext(
  page: PageResponse,
  progress: Progress,
  rule: PagingRule,
  lastId: string | undefined,
): Verdict {
  const { next } = rule;
  if (next.kind === 'none') return { kind: 'whole', isStated: true, mayContinue: false };
  const found = readPaging(page, progress, rule.extent);
  if (isStrategy(next)) return byContract(next, page, progress, { rule, found, lastId });
  return rule.extent === 'list' ? found : ofHistory(found, progress, rule.takesMessage ? lastId : undefined);
}

/** Decides by the signs of a page alone. */
function readPaging(page: PageResponse, progress: Progress, extent: PagingRule['extent']): Verdict {
  const signs = readSigns(page);
  const { open, earlier, isStated } = weigh(signs, progress, extent);
  const isOpen = open.length > 0;
  const links = ofKind(signs, 'link').slice(0, 1);
  const announced = links.length > 0 ? links : isOpen || !isStated ? ofKind(signs, 'token') : [];
  const full = isStated ? [] : fullSizes(signs, page.itemCount);
  // After a message, these may be the pages of the whole session: then the next one has nothing new.
  const further = isStated ? [] : numbersOf(signs, 'pages').filter(({ value }) => value > progress.pages);
  const isNumbered = page.itemCount > 0 && (isOpen || full.length + further.length > 0);
  const numbered = isNumbered ? numberSteps(signs, progress, page.itemCount) : [];
  const steps = announced.length > 0 ? announcedSteps(announced, progress) : numbered;
  if (steps.length > 0) {
    const isCertain = isOpen || announced.some((sign) => sign.kind === 'link' || sign.isNext);
    const speaking = announced.length > 0 ? announced : full;
    return { kind: 'next', steps, isCertain, signs: [...new Set([...pathsOf(speaking), ...open])] };
  }
  if (isOpen) return { kind: 'unexplained', signs: open, isEarlier: false };
  if (earlier.length > 0) return { kind: 'unexplained', signs: earlier, isEarlier: true };
  const isFull = full.length > 0 || ROUND.has(page.itemCount);
  return { kind: 'whole', isStated, mayContinue: isFull && !isStated && progress.step === undefined };
}

/** What the signs of a page say, compared with what was read. */
interface PageEvidence {
  /** What speaks of more than was read. */
  readonly open: readonly string[];
  /** What says that something comes before the first page of a session. */
  readonly earlier: readonly string[];
  /** Whether the service says that there is no next page, or how many items there are and all were read. */
  readonly isStated: boolean;
}

function weigh(signs: readonly Sign[], progress: Progress, extent: PagingRule['extent']): PageEvidence {
  const { unread, isCounted } = compareSizes(extent === 'rest of a session' ? [] : signs, progress, extent === 'list');
  const isStart = progress.step === undefined && extent === 'session';
  const isEnded = ofKind(signs, 'end').length > 0 && !ofKind(signs, 'token').some(({ isNext }) => isNext);
  return {
    open: [...pathsOf(ofKind(signs, 'more')), ...unread],
    earlier: isStart ? pathsOf(ofKind(signs, 'earlier')) : [],
    isStated: isCounted || isEnded || ofKind(signs, 'last').length > 0,
  };
}

function pathsOf(signs: readonly Sign[]): readonly string[] {
  return signs.map(({ path }) => path);
}

function ofKind<Kind extends Sign['kind']>(signs: readonly Sign[], kind: Kind) {
  return signs.filter((sign): sign is Extract<Sign, { readonly kind: Kind }> => sign.kind === kind);
}

/**
 * Compares what a page states about the size of its list with what was read.
 * @param isExact whether there may not be more, either: then it is the total of something else, or the list has shrunk meanwhile
 */
function compareSizes(signs: readonly Sign[], { items, pages }: Progress, isExact: boolean) {
  const [totals, pageTotals] = [numbersOf(signs, 'total'), numbersOf(signs, 'pages')];
  const unread = [
    ...totals
      .filter(({ value }) => value > items || (isExact && value < items))
      .map(({ path, value }) => `${path}: ${value}, and ${items} read`),
    ...pageTotals
      .filter(({ value }) => value > pages)
      .map(({ path, value }) => `${path}: ${value}, and ${pages} ${pages === 1 ? 'page' : 'pages'} read`),
  ];
  return { unread, isCounted: totals.length + pageTotals.length > 0 && unread.length === 0 };
}

/** Returns the page sizes that a page fills. A bare `size` counts only beside a page number. */
function fullSizes(signs: readonly Sign[], itemCount: number): readonly Sign[] {
  const isNumbered = numbersOf(signs, 'page').length > 0;
  return numbersOf(signs, 'size').filter(
    ({ value, name }) => value > 0 && itemCount >= value && (name !== 'size' || isNumbered),
  );
}

/** After the requests that a page announces, a history is read on after its last message. */
function ofHistory(found: Verdict, { step, emptyPages }: Progress, lastId: string | undefined): Verdict {
  if (found.kind === 'whole' || (found.kind === 'unexplained' && found.isEarlier)) return found;
  const announced = found.kind === 'next' ? found.steps : [];
  if (announced[0]?.kind === 'link') return found;
  if (emptyPages > MAX_EMPTY_HISTORY_PAGES) return { kind: 'whole', isStated: false, mayContinue: false };
  const own: readonly PageStep[] = lastId === undefined ? [] : [{ kind: 'message', value: lastId }];
  const steps = step?.kind === 'message' ? [...own, ...announced] : [...announced, ...own];
  if (steps.length === 0) return found;
  return { kind: 'next', steps, isCertain: found.kind === 'unexplained' || found.isCertain, signs: found.signs };
}

/** Decides where the contract says how the next page is requested, which a page need not announce. */
function byContract(
  strategy: PagingStrategy,
  page: PageResponse,
  progress: Progress,
  known: { readonly rule: PagingRule; readonly found: Verdict; readonly lastId: string | undefined },
): Verdict {
  const { rule, found, lastId } = known;
  const isCertain = found.kind === 'unexplained' || (found.kind === 'next' && found.isCertain);
  const signs = found.kind === 'whole' ? [] : found.signs;
  const steps = stepsBy(strategy, page, progress, lastId);
  if (steps.length > 0) return { kind: 'next', steps, isCertain, signs };
  if (!isCertain || (rule.isOverride && progress.step !== undefined)) {
    return { kind: 'whole', isStated: found.kind === 'whole' && found.isStated, mayContinue: false };
  }
  return found.kind === 'unexplained' ? found : { kind: 'unexplained', signs, isEarlier: false };
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
