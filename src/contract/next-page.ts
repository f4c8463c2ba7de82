import type { NextValue } from './leaf-value.ts';
import { type PageResponse, type PageSigns, type Sign, type TokenSign, valueAt } from './page-signs.ts';
import { type Spelling, spell, toWords } from './paging-names.ts';

/** A strategy for requesting the next page. */
export type PagingStrategy = Exclude<NextValue, { readonly kind: 'auto' | 'none' }>;

/** A request for a page: the strategy, and for a strategy that counts, the number of the page or of its first item. */
export interface PageStep {
  readonly strategy: PagingStrategy;
  readonly number?: number;
}

const AFTER: readonly string[][] = [['starting', 'after'], ['after'], ['after', 'id'], ['cursor'], ['last', 'id']];
const PAGE_NAMES = [
  'page',
  'page_number',
  'pageNumber',
  '_page',
  'pageNum',
  'page[number]',
  'p',
  'pageIndex',
  'page_index',
  'pageNo',
  'current',
];
const OFFSET_NAMES = ['offset', 'start', 'skip', '_start', '$skip', 'startIndex', 'startAt', 'from', 'start_index'];
const TOKEN_NAMES: readonly string[][] = [
  ['cursor'],
  ['page', 'token'],
  ['after'],
  ['next'],
  ['next', 'token'],
  ['starting', 'after'],
  ['start', 'cursor'],
  ['continuation', 'token'],
  ['token'],
  ['marker'],
  ['page'],
  ['offset'],
  ['start'],
];

/** Parameters that commonly take the token of a name with this word. */
const COMMON_PARAMETERS: Readonly<Record<string, readonly string[][]>> = {
  cursor: [['cursor'], ['after'], ['start', 'cursor'], ['page', 'token']],
  token: [
    ['page', 'token'],
    ['next', 'token'],
    ['continuation', 'token'],
    ['token'],
    ['cursor'],
    ['pagination', 'token'],
  ],
  end: [['from'], ['start'], ['after']],
  marker: [['marker'], ['start', 'marker'], ['after']],
  continuation: [['continuation', 'token'], ['continuation'], ['continue']],
  continue: [['continue'], ['continue', 'token'], ['continuation', 'token']],
  after: [['after'], ['starting', 'after'], ['cursor']],
  page: [['page'], ['page', 'token'], ['page', 'number'], ['p']],
  offset: [['offset'], ['start'], ['skip'], ['from']],
  start: [['start'], ['offset'], ['start', 'key']],
  key: [['start', 'key'], ['exclusive', 'start', 'key'], ['after']],
  id: [['after', 'id'], ['starting', 'after'], ['after'], ['start', 'after']],
};

/** Returns parameters in brackets, such as `page[number]`, for a value in an object named `page` or `pagination`. */
function bracketed(path: string, ...names: readonly string[]): readonly string[] {
  const [own = '', parent = ''] = path.split('.').toReversed();
  return /^(page|pagination)$/.test(parent) ? [own, ...names].map((name) => `${parent}[${name}]`) : [];
}

/** Returns the query parameters that may take a token, the closest to its name first. @param words of that name */
export function tokenParameters(words: readonly string[], spelling: Spelling): readonly string[] {
  const rest = words.filter((word) => word !== 'next');
  const isLast = words.includes('last') && words.length > 1;
  const nested = words[0] === 'page' && words.length === 2 ? [`page[${words[1]}]`] : [];
  const ownNames = [...(isLast || rest.length === 0 ? [] : [rest]), words];
  const common = words.flatMap((word) => COMMON_PARAMETERS[word] ?? []);
  const inOwnSpelling = (names: readonly (readonly string[])[]) => names.map((name) => spell(name, spelling));
  const others = (['snake', 'camel', 'kebab', 'joined'] as const).flatMap((other) =>
    ownNames.map((name) => spell(name, other)),
  );
  const ordered = isLast
    ? [...inOwnSpelling(common), ...inOwnSpelling(ownNames)]
    : inOwnSpelling([...ownNames, ...common]);
  return unique([...nested, ...ordered, ...others, ...inOwnSpelling(TOKEN_NAMES)]);
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}

function splitPath(path: string): readonly string[] {
  return path.split('.');
}

/** Returns the parameters for a number that is called only `next` or `next_page`. */
function numberedNames(words: readonly string[], pages: readonly Sign<number>[]): readonly string[] | undefined {
  if (words.join() === 'next') return ['page', 'offset', 'next', 'cursor', 'start', 'skip', 'until', 'before'];
  return words.join() === 'next,page' && pages.length > 0 ? numberParameters(pages, PAGE_NAMES).slice(0, 6) : undefined;
}

/** Returns the strategies for an offset in the first page that is not 0: it is where the next page begins. */
function nextOffsets(signs: readonly Sign<number>[]): readonly PagingStrategy[] {
  return signs
    .filter(({ value }) => value > 0)
    .map(({ path, words, spelling }) => ({
      kind: 'token',
      source: splitPath(path),
      parameter: spell(words, spelling),
    }));
}

/** Returns the strategies for a cursor that is 0 in the first page: it counts items. */
function countingCursors(tokens: readonly TokenSign[]): readonly PagingStrategy[] {
  return tokens
    .filter(({ isWeak, value }) => isWeak && value === '0')
    .map(({ words, spelling }) => ({ kind: 'offset', parameter: spell(words, spelling) }));
}

function tokenStrategies(tokens: readonly TokenSign[], pages: readonly Sign<number>[]): readonly PagingStrategy[] {
  const strategies = tokens.map(({ path, words, spelling, isNumber }) => {
    const names = isNumber ? numberedNames(words, pages) : undefined;
    return unique([...(names ?? tokenParameters(words, spelling)), ...bracketed(path, 'cursor')]).map(
      (parameter): PagingStrategy => ({ kind: 'token', source: splitPath(path), parameter }),
    );
  });
  // Alternate between tokens, so that none uses up all tries.
  const longest = Math.max(0, ...strategies.map((each) => each.length));
  return Array.from({ length: longest }, (_, index) => strategies.flatMap((each) => each[index] ?? [])).flat();
}

/** Returns the parameters for the number of a page or an offset: first those with the name in the response. */
function numberParameters(signs: readonly Sign<number>[], common: readonly string[]): readonly string[] {
  const own = signs.flatMap(({ path, words, spelling }) => {
    const rest = words.filter((word) => word !== 'current' && word !== 'cur' && word !== 'in');
    const inBrackets = bracketed(path);
    const isNested = words[0] === 'page' && words.length === 2 && path.endsWith(`page.${words[1]}`);
    if (isNested) return words[1] === 'number' ? ['page', 'page[number]'] : [words[1] ?? '', `page[${words[1]}]`];
    if (rest.join() === 'skip') return ['skip', '$skip'];
    if (rest.length === 0) return [spell(words, spelling), ...inBrackets];
    return rest.join() === 'number' ? inBrackets : [spell(rest, spelling), ...inBrackets];
  });
  return unique([...own, ...common]);
}

/**
 * Returns the strategies for requesting the next page, the likeliest first: what the response announces, then what is common.
 * Guesses are included even if there is a link, which may not work.
 */
function proposeStrategies(signs: PageSigns): readonly PagingStrategy[] {
  const { links, tokens, pages, offsets, pageTotals, flags } = signs;
  const linked = links.map(
    ({ path }): PagingStrategy =>
      path === 'header.link' ? { kind: 'header' } : { kind: 'link', source: splitPath(path) },
  );
  const strong = tokens.filter(({ isWeak }) => !isWeak);
  const weak = tokens.filter(({ isWeak }) => isWeak);
  const flag = flags.find(({ value }) => value);
  const after = flag
    ? AFTER.map((words): PagingStrategy => ({ kind: 'after', parameter: spell(words, flag.spelling) }))
    : [];
  const page = numberParameters(pages, PAGE_NAMES).map((parameter): PagingStrategy => ({ kind: 'page', parameter }));
  const isSearch = signs.totals.some((sign) => sign.path.startsWith('hits.'));
  const inPascal = signs.totals.some(({ spelling }) => spelling === 'pascal') ? ['Offset', 'Skip'] : [];
  const offsetNames = [...(isSearch ? ['from'] : inPascal), ...OFFSET_NAMES];
  const offset = numberParameters(offsets, offsetNames).map(
    (parameter): PagingStrategy => ({ kind: 'offset', parameter }),
  );
  const isPaged = pages.length + pageTotals.length > 0;
  const numbered = isPaged
    ? [...page.slice(0, 4), ...offset.slice(0, 2)]
    : offsets.length > 0
      ? offset.slice(0, 4)
      : [];
  return [
    ...linked,
    ...tokenStrategies(strong, pages),
    ...(flag ? nextOffsets(offsets) : []),
    ...countingCursors(weak),
    ...numbered,
    ...tokenStrategies(weak, pages),
    ...after,
    ...interleave(offset, page),
  ];
}

function interleave<Item>(left: readonly Item[], right: readonly Item[]): readonly Item[] {
  return left.flatMap((item, index) => [item, ...right.slice(index, index + 1)]);
}

/** Returns the requests to try for the second page, the likeliest first. */
export function proposeSteps(signs: PageSigns, itemCount: number): readonly PageStep[] {
  const [page] = signs.pages;
  const [offset] = signs.offsets;
  const steps = proposeStrategies(signs).flatMap((strategy): readonly PageStep[] => {
    if (strategy.kind === 'offset') return [{ strategy, number: (offset?.value ?? 0) + itemCount }];
    if (strategy.kind !== 'page') return [{ strategy }];
    // Try page 1 first: it repeats the first page, or is the second one if pages count from 0.
    const known = page ? [page.value] : [0, 1];
    return known.map((first) => ({ strategy: first === 0 ? { ...strategy, first } : strategy, number: first + 1 }));
  });
  const distinct = new Map(steps.map((step) => [`${formatStrategy(step.strategy)} ${step.number}`, step]));
  return [...distinct.values()];
}

/**
 * Returns the request for the next page by a known strategy.
 * @param last the request for this page; undefined for the first page
 */
export function nextStep(
  strategy: PagingStrategy,
  last: PageStep | undefined,
  signs: PageSigns,
  itemCount: number,
): PageStep {
  const number = last?.number;
  if (strategy.kind === 'offset') return { strategy, number: (number ?? signs.offsets[0]?.value ?? 0) + itemCount };
  if (strategy.kind === 'page')
    return { strategy, number: (number ?? signs.pages[0]?.value ?? strategy.first ?? 1) + 1 };
  return { strategy };
}

/** Returns the link or token of the next page. */
export function sourceValue(
  strategy: Extract<PagingStrategy, { readonly kind: 'link' | 'header' | 'token' }>,
  response: PageResponse,
) {
  return valueAt(strategy.kind === 'header' ? ['header', 'link'] : strategy.source, response);
}

/** Whether a value of `<list>.next` is a strategy for requesting the next page. */
export function isStrategy(next: NextValue): next is PagingStrategy {
  return next.kind !== 'auto' && next.kind !== 'none';
}

/** Whether a strategy follows a link. */
export function isLink(
  strategy: PagingStrategy,
): strategy is Extract<PagingStrategy, { readonly kind: 'link' | 'header' }> {
  return strategy.kind === 'link' || strategy.kind === 'header';
}

/** Whether a strategy needs no value from the response. */
export function isCounted(
  strategy: PagingStrategy,
): strategy is Extract<PagingStrategy, { readonly kind: 'page' | 'offset' | 'after' }> {
  return strategy.kind === 'page' || strategy.kind === 'offset' || strategy.kind === 'after';
}

/** Whether the parameter of a strategy is so close to the name of its token that even an empty page proves it. */
export function isCloseParameter(strategy: PagingStrategy, { tokens }: PageSigns): boolean {
  if (strategy.kind !== 'token') return true;
  const sign = tokens.find(({ path }) => path === strategy.source.join('.'));
  return sign !== undefined && toWords(strategy.parameter).every((word) => sign.words.includes(word));
}

/** Formats a strategy as a value of the leaf `<list>.next`; `none` if there is none. */
export function formatStrategy(strategy: PagingStrategy | undefined): string {
  if (strategy === undefined) return 'none';
  if (strategy.kind === 'header') return 'header:link';
  if (strategy.kind === 'link') return `link:${strategy.source.join('.')}`;
  if (strategy.kind === 'token') return `token:${strategy.source.join('.')}:${strategy.parameter}`;
  if (strategy.kind === 'page' && strategy.first === 0) return `page:${strategy.parameter}:0`;
  return `${strategy.kind}:${strategy.parameter}`;
}

/**
 * Whether nothing but the token or link of the strategy announces more. Then an empty page may be the end: some services
 * always send a token or a link.
 */
export function isOnlySign(certain: readonly string[], strategy: PagingStrategy): boolean {
  const own = strategy.kind === 'header' ? 'header.link' : 'source' in strategy ? strategy.source.join('.') : undefined;
  return certain.every((sign) => sign === own);
}

/** Whether a page says that it is the last one. */
export function saysEnd({ flags, ends }: PageSigns): boolean {
  return flags.length > 0 ? flags.every(({ value }) => !value) : ends.length > 0;
}

/** Describes a sign: its path, with the type of its value. */
export function withType(sign: string, response: PageResponse): string {
  const value = valueAt(sign.split('.'), response);
  if (value === undefined) return sign;
  const type = Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
  return `${sign} (${type})`;
}
