import type { NextValue } from './leaf-values.ts';
import { isNext, type PageResponse, type Sign, valueAt } from './page-signs.ts';
import { isTextOrNumber } from './values.ts';

export type PageStep =
  | { readonly kind: 'link'; readonly path: string; readonly value: string }
  | { readonly kind: 'token'; readonly path: string; readonly parameter: string; readonly value: string }
  | { readonly kind: 'page' | 'offset'; readonly parameter: string; readonly value: number }
  | { readonly kind: 'after'; readonly parameter: string; readonly value: string };

function ofKind(signs: readonly Sign[], kind: Sign['kind']): readonly Sign[] {
  return signs.filter((sign) => sign.kind === kind);
}

/** A list, a session from its first message on, or what comes after a message, for which totals are meaningless. */
export type Extent = 'list' | 'session' | 'rest of a session';

/** What was read of a list, with the page that a question is about. */
export interface Progress {
  readonly items: number;
  readonly pages: number;
  readonly emptyPages: number;
  /** Whether a page without items came before one with some: what a total has beside them may be missing there. */
  readonly hasHole: boolean;
  readonly step: PageStep | undefined;
  /** The largest that any page stated, by path: one that a later page does not state still counts. */
  readonly totals: ReadonlyMap<string, number>;
  /** Whether the list changed between two pages: a total did, or an item came twice. */
  readonly hasShifted: boolean;
  /** Whether a total became smaller: then the ids may add up although one was missed. */
  readonly hasShrunk: boolean;
}

/** A stated count, and what was read of it. */
interface Count {
  readonly path: string;
  readonly value: number;
  readonly read: number;
}

/** Adds a page to what was read. @param added how many of its items are new */
export function addPage(
  before: Progress | undefined,
  { signs, items, added, step }: { signs: readonly Sign[]; items: number; added: number; step: PageStep | undefined },
): Progress {
  const totals = new Map(before?.totals);
  const growth = ofKind(signs, 'total').map(({ path, value }) => {
    const [total, known = total] = [Number(value), totals.get(path)];
    totals.set(path, Math.max(total, known));
    return total - known;
  });
  return {
    items: (before?.items ?? 0) + added,
    pages: (before?.pages ?? 0) + 1,
    emptyPages: items > 0 ? 0 : (before?.emptyPages ?? 0) + 1,
    hasHole: before?.hasHole === true || (items > 0 && before !== undefined && before.emptyPages > 0),
    step,
    totals,
    hasShifted: before?.hasShifted === true || added < items || growth.some((each) => each !== 0),
    hasShrunk: before?.hasShrunk === true || growth.some((each) => each < 0),
  };
}

/** A page, what it says about pages, and how much was read with it. */
export interface ReadPage {
  readonly page: PageResponse;
  readonly signs: readonly Sign[];
  readonly progress: Progress;
  readonly lastId: string | undefined;
}

/** Formats how a page is requested as a value of `<list>.next`. */
export function formatStep(step: PageStep): string {
  if (step.kind === 'link') return step.path === 'header.link' ? 'header:link' : `link:${step.path}`;
  return step.kind === 'token' ? `token:${step.path}:${step.parameter}` : `${step.kind}:${step.parameter}`;
}

/**
 * Returns the stated counts that do not agree with what was read: fewer pages than stated, or another number of items. A
 * session may have more items than stated, and the rest of one has no count.
 */
function openCounts(signs: readonly Sign[], { items, pages, totals }: Progress, extent: Extent): readonly Count[] {
  if (extent === 'rest of a session') return [];
  const ofPages = ofKind(signs, 'pages').map(({ path, value }) => ({ path, value: Number(value), read: pages }));
  const ofItems = [...totals].map(([path, value]) => ({ path, value, read: items }));
  return [
    ...ofPages.filter(({ value }) => value > pages),
    ...ofItems.filter(({ value }) => value > items || (extent === 'list' && value < items)),
  ];
}

/** Whether a count states more than was read of the rest of a session: it may be of the whole session. */
export function hasOpenCounts({ signs, progress }: ReadPage): boolean {
  return openCounts(signs, progress, 'session').length > 0;
}

/** Returns what speaks of more, and where. @param isSetWhole the user says that a page is all: totals count something else */
export function moreSigns(read: ReadPage, extent: Extent, isSetWhole: boolean): readonly string[] {
  const { signs, progress, page } = read;
  // Some services send a token with the last page, too, and histories one for what is yet to come.
  const isOpen = statedEnd(read, extent) === undefined && (extent === 'list' || page.itemCount > 0);
  // Where one led to this page, another one leads on, whatever it is named.
  const { step } = progress;
  const isAnother = ({ path, value }: Sign) =>
    step?.kind === 'token' && step.path === path && step.value !== String(value);
  const leadsOn = (sign: Sign) => isNext(sign) || isAnother(sign);
  const tokens = isOpen ? ofKind(signs, 'token').filter(leadsOn) : [];
  const announced = [...ofKind(signs, 'link'), ...tokens, ...ofKind(signs, 'more')].map(({ path }) => path);
  const counts = isSetWhole ? [] : openCounts(signs, progress, extent);
  return [...announced, ...counts.map(({ path, value, read: count }) => `${path}: ${value}, and ${count} read`)];
}

/** Returns what in the first page of a session says that others come before: where it stands. */
export function earlierSigns({ signs, progress }: ReadPage, extent: Extent): readonly string[] {
  return extent === 'session' && progress.step === undefined ? ofKind(signs, 'earlier').map(({ path }) => path) : [];
}

/** Whether the service says that nothing comes after this page; `added up` if a stated total says so. */
export function statedEnd({ signs, progress, page }: ReadPage, extent: Extent): 'stated' | 'added up' | undefined {
  if (openCounts(signs, progress, extent).length > 0) return undefined;
  const isCounted = extent !== 'rest of a session';
  if (isCounted && progress.totals.size > 0) return 'added up';
  const isNull = ofKind(signs, 'end').length > 0 && !ofKind(signs, 'token').some(isNext);
  const isFlagged = isNull || ofKind(signs, 'last').length > 0;
  // What announced this page announces no other one.
  const { step } = progress;
  const isLeftOut =
    (step?.kind === 'link' || step?.kind === 'token') && !isTextOrNumber(valueAt(step.path.split('.'), page));
  const isLastPage = isCounted && ofKind(signs, 'pages').length > 0;
  return isLastPage || isFlagged || isLeftOut ? 'stated' : undefined;
}

/**
 * Returns the requests to try for the next page, none at the end. A set or imported way comes before what the service
 * announces: a link, a token, or else counts, which prove the numbers that are tried.
 */
export function nextSteps(next: NextValue, read: ReadPage, extent: Extent): readonly PageStep[] {
  if (next.kind === 'none') return [];
  if (next.kind === 'link' || next.kind === 'token') return announcedBy(next, read.page);
  const isEnd = statedEnd(read, extent) !== undefined;
  if (next.kind !== 'auto') return isEnd ? [] : numberedBy(next, read);
  const { signs, progress } = read;
  const [link] = ofKind(signs, 'link');
  if (link) return [{ kind: 'link', path: link.path, value: String(link.value) }];
  const tokens = ofKind(signs, 'token').toSorted((one, other) => Number(isNext(other)) - Number(isNext(one)));
  const [token] = isEnd && ofKind(signs, 'more').length === 0 ? [] : tokens;
  if (token) return [{ kind: 'token', path: token.path, parameter: parameterOf(token), value: String(token.value) }];
  return openCounts(signs, progress, extent).length > 0 ? numberSteps(read) : [];
}

function announcedBy(next: Extract<NextValue, { kind: 'link' | 'token' }>, page: PageResponse): readonly PageStep[] {
  const value = valueAt(next.source, page);
  if (!isTextOrNumber(value) || Number(value) < 0) return [];
  return [{ ...next, path: next.source.join('.'), value: String(value) }];
}

type NumberStep = Extract<PageStep, { readonly kind: 'page' | 'offset' }>;

export function isNumberStep(step: PageStep): step is NumberStep {
  return step.kind === 'page' || step.kind === 'offset';
}

/** Returns the request for what follows a page that was requested by number. */
export function stepAfter(step: NumberStep, itemCount: number): NumberStep {
  return { ...step, value: step.value + (step.kind === 'page' ? 1 : itemCount) };
}

/** Returns the requests by a parameter that the contract names; none after a page without items. */
function numberedBy(
  { kind, parameter }: Extract<NextValue, { kind: 'page' | 'offset' | 'after' }>,
  { page: { itemCount }, signs, progress: { step }, lastId }: ReadPage,
): readonly PageStep[] {
  if (itemCount === 0) return [];
  if (kind === 'after') return lastId === undefined ? [] : [{ kind, parameter, value: lastId }];
  if (step?.kind === kind) return [stepAfter(step, itemCount)];
  const first = ofKind(signs, kind).find(isStart)?.value;
  // Page 1 repeats the first page, or is the second one if pages count from 0.
  const firsts = first !== undefined ? [Number(first)] : kind === 'page' ? [0, 1] : [0];
  return firsts.map((value) => stepAfter({ kind, parameter, value }, itemCount));
}

/** Returns the requests by number that a count can prove. The first page is page 0 or 1, and begins at 0 or 1. */
function numberSteps({ signs, page: { itemCount }, progress: { step } }: ReadPage): readonly PageStep[] {
  if (itemCount === 0) return [];
  if (step) return isNumberStep(step) ? [stepAfter(step, itemCount)] : [];
  const [page, offset] = [ofKind(signs, 'page').find(isStart), ofKind(signs, 'offset').find(isStart)];
  const named = [page, offset].flatMap((sign): readonly NumberStep[] => {
    if (sign === undefined) return [];
    return [{ kind: sign === page ? 'page' : 'offset', parameter: parameterOf(sign), value: Number(sign.value) }];
  });
  const firstPages = page ? [Number(page.value)] : [0, 1];
  // Feathers and OData take `$skip`.
  const customary = [
    ...['offset', 'skip', '$skip'].map((parameter) => ({ kind: 'offset', parameter, value: 0 }) as const),
    ...firstPages.map((value) => ({ kind: 'page', parameter: 'page', value }) as const),
  ];
  // Without a total, nothing proves a number that the service does not name.
  const starts = ofKind(signs, 'total').length > 0 ? [...named, ...customary] : named;
  const steps = starts.map((each) => stepAfter(each, itemCount));
  return [...new Map(steps.map((each) => [`${formatStep(each)}=${each.value}`, each])).values()];
}

function isStart({ value }: Sign): boolean {
  return value === 0 || value === 1;
}

/** Returns the parameter that takes a sign, by its own name: `cursor` for `next_cursor` and for the header `x-next-cursor`. */
function parameterOf({ kind, path }: Sign): string {
  const key = path.replace(/^header\.(x-)?(wp-|ms-)?/, '').replace(/^.*\./, '');
  const bare = key.replace(/^(next|current)[_-]?(?=.)/i, '');
  // AWS sends NextToken, and takes NextToken.
  if (kind === 'token' && /^token$/i.test(bare)) return key;
  if (kind !== 'token' && /^(current|number)$/i.test(bare)) return kind;
  return /^[A-Z]/.test(key) ? bare : bare.charAt(0).toLowerCase() + bare.slice(1);
}
