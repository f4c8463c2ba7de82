import type { NextValue } from './leaf-value.ts';
import {
  type NumberSign,
  type PageResponse,
  readSigns,
  type Sign,
  type Signs,
  type TokenSign,
  valueAt,
} from './page-signs.ts';

/** How a page is requested: by a link, or by a query parameter and its value. */
export type PageStep =
  | { readonly kind: 'link'; readonly path: string; readonly value: string }
  | { readonly kind: 'token'; readonly path: string; readonly parameter: string; readonly value: string }
  | { readonly kind: 'page' | 'offset'; readonly parameter: string; readonly value: number }
  | { readonly kind: 'after'; readonly parameter: string; readonly value: string };

/** What was read of a list, with the page that a verdict is about. */
export interface Progress {
  readonly items: number;
  readonly pages: number;
  /** How this page was requested; undefined for the first one. */
  readonly step: PageStep | undefined;
  /** A list, a session from its first message on, or what comes after a message, of which numbers of messages say nothing. */
  readonly extent: 'list' | 'session' | 'rest of a session';
}

/** What a page says about the next one. */
export type Verdict =
  /** Nothing speaks of more. `isStated`: the service says so. `isFull`: the page has as many items as a page may have. */
  | { readonly kind: 'whole'; readonly isStated: boolean; readonly isFull: boolean }
  /** At most two requests to try in turn. `isCertain`: there is more, so that an empty answer proves nothing. */
  | {
      readonly kind: 'next';
      readonly steps: readonly PageStep[];
      readonly isCertain: boolean;
      readonly signs: readonly string[];
    }
  /** There is more, and nothing says how to request it. `isEarlier`: only before the first page. */
  | { readonly kind: 'unexplained'; readonly signs: readonly string[]; readonly isEarlier: boolean };

/** Returns the parameters that may take a token: one of its own name, and the conventional one. */
function tokenParameters({ key, name, isNumber }: TokenSign): readonly string[] {
  if (/^(page)?end(cursor)?$/.test(name)) return ['after', 'cursor'];
  if (/^last/.test(name)) return ['after_id', 'after'];
  const bare = key.replace(/^next[_-]?(?=.)/i, '');
  const own = /^[A-Z]/.test(key) ? bare : bare.charAt(0).toLowerCase() + bare.slice(1);
  // AWS sends NextToken, and takes NextToken.
  if (/^token$/i.test(own)) return [key, own];
  if (isNumber) return [own, /offset|skip|start/.test(name) ? 'offset' : 'page'];
  return [own, /cursor/i.test(own) ? 'after' : /marker/i.test(own) ? 'marker' : 'cursor'];
}

function numberParameters(sign: NumberSign, conventional: 'page' | 'offset'): readonly string[] {
  const own = sign.key.replace(/^current[_-]?(?=.)/i, '').replace(/^(current|number)$/i, conventional);
  const isPascal = /^[A-Z]/.test(sign.key);
  return [isPascal ? own : own.charAt(0).toLowerCase() + own.slice(1), conventional];
}

/** Returns the requests by page number or offset. The first page is page 0 or 1, and begins at 0 or 1. */
function numberSteps(signs: Signs, { step, pages }: Progress, itemCount: number): readonly PageStep[] {
  if (step?.kind === 'page') return [{ ...step, value: step.value + 1 }];
  if (step?.kind === 'offset') return [{ ...step, value: step.value + itemCount }];
  if (pages > 1) return [];
  const isStart = ({ value }: NumberSign) => value === 0 || value === 1;
  const toSteps = (kind: 'page' | 'offset', distance: number) => (sign: NumberSign) =>
    numberParameters(sign, kind).map((parameter): PageStep => ({ kind, parameter, value: sign.value + distance }));
  const numbered = signs.pages.filter(isStart).slice(0, 1).flatMap(toSteps('page', 1));
  // An offset that is not that of this page is where the next one begins.
  const [offset] = signs.offsets;
  if (numbered.length > 0 || offset === undefined) return numbered;
  return toSteps('offset', isStart(offset) ? itemCount : 0)(offset);
}

function tokenSteps(tokens: readonly TokenSign[], { step }: Progress): readonly PageStep[] {
  const steps = tokens.flatMap((sign) =>
    tokenParameters(sign).map(
      (parameter): PageStep => ({ kind: 'token', parameter, path: sign.path, value: sign.value }),
    ),
  );
  const known = steps.filter(
    (each) => each.kind === 'token' && step?.kind === 'token' && each.parameter === step.parameter,
  );
  return known.length > 0 ? known : steps;
}

const MAX_STEPS = 2;

function firstSteps(steps: readonly PageStep[]): readonly PageStep[] {
  const distinct = new Map(steps.map((step) => [formatStep(step), step]));
  return [...distinct.values()].slice(0, MAX_STEPS);
}

/** What a page states about the size of its list. */
export interface StatedSize {
  readonly path: string;
  readonly value: number;
}

/** Returns what a page states about the number of items of its list. */
export function statedSizes(page: PageResponse): readonly StatedSize[] {
  return readSigns(page).totals.map(({ path, value }) => ({ path, value }));
}

/** What the signs of a page say, compared with what was read. */
interface Outlook {
  /** What speaks of more than was read. */
  readonly open: readonly string[];
  /** What says that something comes before the first page. */
  readonly earlier: readonly string[];
  /** Whether the page says that it is the last one. */
  readonly isLast: boolean;
  /** Whether the size of the list is stated, and everything was read. */
  readonly isCounted: boolean;
  readonly isStated: boolean;
}

function compare(signs: Signs, progress: Progress): Outlook {
  const isList = progress.extent === 'list';
  const more = isList ? [...signs.more, ...signs.older] : signs.more;
  const isFirst = progress.step === undefined && progress.extent !== 'rest of a session';
  const earlier = isFirst ? pathsOf(isList ? signs.earlier : [...signs.earlier, ...signs.older]) : [];
  const { missing, isCounted } = compareSizes(signs, progress);
  const isLast = signs.lastFlags.length > 0 && more.length === 0;
  const unknown = signs.unknown.filter(({ path }) => !(isCounted && path === 'status 206'));
  const open = [...pathsOf([...more, ...unknown]), ...missing];
  return { open, earlier, isLast, isCounted, isStated: isLast || signs.ends.length > 0 || isCounted };
}

/**
 * Decides what a page says about the next one, by everything in its body and its headers that speaks of pages. `whole` only if
 * nothing speaks of more than was read.
 */
export function readPaging(page: PageResponse, progress: Progress): Verdict {
  const signs = readSigns(page);
  const { open, earlier, isLast, isCounted, isStated } = compare(signs, progress);
  const isCertain = open.length > 0;
  const full = isStated ? [] : fullSizes(signs, page.itemCount);
  if (progress.extent === 'list' && earlier.length > 0)
    return { kind: 'unexplained', signs: [...earlier, ...open], isEarlier: true };
  const announced = announcedSteps(signs, progress, {
    isOver: isLast || (isCounted && !isCertain),
    isOpen: isCertain || !isStated,
  });
  if (announced) {
    const paths = [...new Set([...pathsOf(announced.signs), ...open])];
    return {
      kind: 'next',
      steps: firstSteps(announced.steps),
      isCertain: isCertain || announced.isCertain,
      signs: paths,
    };
  }
  // After a message, these may be the pages of the whole session: then the next one has nothing new.
  const further = isStated ? [] : signs.pageTotals.filter(({ value }) => value > progress.pages);
  const isMore = page.itemCount > 0 && (isCertain || full.length + further.length > 0);
  const numbered = isMore ? numberSteps(signs, progress, page.itemCount) : [];
  if (numbered.length > 0)
    return { kind: 'next', steps: firstSteps(numbered), isCertain, signs: [...open, ...pathsOf(full)] };
  if (isCertain) return { kind: 'unexplained', signs: open, isEarlier: false };
  if (earlier.length > 0) return { kind: 'unexplained', signs: earlier, isEarlier: true };
  return { kind: 'whole', isStated, isFull: full.length > 0 };
}

/** Returns the requests by a link or a token. @param isOver whether everything was read, so that a token leads nowhere */
function announcedSteps(
  { links, next, cursors }: Signs,
  progress: Progress,
  { isOver, isOpen }: { readonly isOver: boolean; readonly isOpen: boolean },
) {
  const [link] = links;
  if (link) {
    const step: PageStep = { kind: 'link', path: link.path, value: link.value };
    return { steps: [step], signs: [link], isCertain: true };
  }
  if (next.length > 0 && !isOver) return { steps: tokenSteps(next, progress), signs: next, isCertain: true };
  return cursors.length > 0 && isOpen
    ? { steps: tokenSteps(cursors, progress), signs: cursors, isCertain: false }
    : undefined;
}

function pathsOf(signs: readonly Sign[]): readonly string[] {
  return signs.map(({ path }) => path);
}

/** Compares what a page states about the size of its list with what was read. */
function compareSizes({ totals, pageTotals }: Signs, { items, pages, extent }: Progress) {
  if (extent === 'rest of a session') return { missing: [], isCounted: false };
  const missing = [
    ...totals.filter(({ value }) => value > items).map(({ path, value }) => `${path}: ${value}, and ${items} read`),
    ...pageTotals
      .filter(({ value }) => value > pages)
      .map(({ path, value }) => `${path}: ${value}, and ${pages} ${pages === 1 ? 'page' : 'pages'} read`),
  ];
  return { missing, isCounted: totals.length + pageTotals.length > 0 && missing.length === 0 };
}

/** Returns the page sizes that a page fills. A bare `size` counts only beside a page number. */
function fullSizes({ sizes, pages }: Signs, itemCount: number): readonly Sign[] {
  return sizes.filter(({ value, name }) => value > 0 && itemCount >= value && (name !== 'size' || pages.length > 0));
}

/** How the next page of a list is requested, if the contract says so. */
export type PagingStrategy = Exclude<NextValue, { readonly kind: 'auto' | 'none' }>;

/** Whether a value of `<list>.next` says how the next page is requested. */
export function isStrategy(next: NextValue): next is PagingStrategy {
  return next.kind !== 'auto' && next.kind !== 'none';
}

/** Returns the link or token at a path; undefined if there is none. */
function textAt(path: readonly string[], page: PageResponse): string | undefined {
  const value = valueAt(path, page);
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
  return isText && value !== '' && !(Number(value) < 0) ? String(value) : undefined;
}

/**
 * Returns the request for the next page as the contract says.
 * @param lastId the id of the last item
 * @returns undefined if the page has nothing to request one with
 */
export function stepBy(
  strategy: PagingStrategy,
  page: PageResponse,
  { step }: Progress,
  lastId: string | undefined,
): PageStep | undefined {
  if (strategy.kind === 'header' || strategy.kind === 'link' || strategy.kind === 'token') {
    const source = strategy.kind === 'header' ? ['header', 'link'] : strategy.source;
    const value = textAt(source, page);
    const path = source.join('.');
    if (value === undefined) return undefined;
    return strategy.kind === 'token'
      ? { kind: 'token', path, parameter: strategy.parameter, value }
      : { kind: 'link', path, value };
  }
  const { kind, parameter } = strategy;
  if (kind === 'after') return lastId === undefined ? undefined : { kind, parameter, value: lastId };
  const { pages, offsets } = readSigns(page);
  const stated = (kind === 'page' ? pages : offsets).find(({ value }) => value === 0 || value === 1)?.value;
  const first = kind === 'offset' ? 0 : strategy.kind === 'page' ? (strategy.first ?? 1) : 1;
  const current = step?.kind === kind ? step.value : (stated ?? first);
  return { kind, parameter, value: current + (kind === 'page' ? 1 : page.itemCount) };
}

/** Whether a page states its number. Without it, the first page may be page 0 or page 1. */
export function statesPageNumber(page: PageResponse): boolean {
  return readSigns(page).pages.length > 0;
}

/** Formats how a page is requested as a value of `<list>.next`. */
export function formatStep(step: PageStep): string {
  if (step.kind === 'link') return step.path === 'header.link' ? 'header:link' : `link:${step.path}`;
  return step.kind === 'token' ? `token:${step.path}:${step.parameter}` : `${step.kind}:${step.parameter}`;
}

/** The numbers of items that a page usually has at most. */
const ROUND = new Set([10, 20, 25, 50, 100, 200, 250, 500, 1_000]);

/** Whether a list that says nothing about pages may be only the first page of it. */
export function isRoundLength(length: number): boolean {
  return ROUND.has(length);
}
