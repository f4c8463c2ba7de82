import type { NextValue } from './leaf-value.ts';
import {
  type LinkSign,
  type NumberSign,
  type PageResponse,
  readSigns,
  type Sign,
  type TokenSign,
  valueAt,
} from './page-signs.ts';

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

/** Formats how a page is requested as a value of `<list>.next`. */
export function formatStep(step: PageStep): string {
  if (step.kind === 'message') return 'auto';
  if (step.kind === 'link') return step.path === 'header.link' ? 'header:link' : `link:${step.path}`;
  return step.kind === 'token' ? `token:${step.path}:${step.parameter}` : `${step.kind}:${step.parameter}`;
}

const MAX_STEPS = 2;

export function numbersOf(signs: readonly Sign[], kind: NumberSign['kind']): readonly NumberSign[] {
  return signs.filter((sign): sign is NumberSign => sign.kind === kind);
}

/** Returns the requests by a link or by tokens: under the parameter that worked, or else under each that may take one. */
export function announcedSteps(signs: readonly (LinkSign | TokenSign)[], { step }: Progress): readonly PageStep[] {
  const steps = signs.flatMap((sign): readonly PageStep[] => {
    const { kind, path, value } = sign;
    return kind === 'link'
      ? [{ kind, path, value }]
      : tokenParameters(sign).map((parameter): PageStep => ({ kind, path, parameter, value }));
  });
  const known = steps.filter(
    (each) => each.kind === 'token' && step?.kind === 'token' && each.parameter === step.parameter,
  );
  return distinct(known.length > 0 ? known : steps);
}

/** Returns the requests by page number or offset. The first page is page 0 or 1, and begins at 0 or 1. */
export function numberSteps(signs: readonly Sign[], { step, pages }: Progress, itemCount: number): readonly PageStep[] {
  if (step?.kind === 'page') return [{ ...step, value: step.value + 1 }];
  if (step?.kind === 'offset') return [{ ...step, value: step.value + itemCount }];
  if (pages > 1) return [];
  const toSteps = (sign: NumberSign, kind: 'page' | 'offset', distance: number) =>
    distinct([ownParameter(sign), kind].map((parameter) => ({ kind, parameter, value: sign.value + distance })));
  const page = numbersOf(signs, 'page').find(isStart);
  if (page) return toSteps(page, 'page', 1);
  const [offset] = numbersOf(signs, 'offset');
  // An offset that is not that of this page is where the next one begins.
  return offset ? toSteps(offset, 'offset', isStart(offset) ? itemCount : 0) : [];
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
  return [own, /cursor/i.test(own) ? 'after' : /marker/i.test(own) ? 'marker' : 'cursor'];
}

function distinct(steps: readonly PageStep[]): readonly PageStep[] {
  return [...new Map(steps.map((step) => [formatStep(step), step])).values()].slice(0, MAX_STEPS);
}

/** How the next page of a list is requested, if the contract says so. */
export type PagingStrategy = Exclude<NextValue, { readonly kind: 'auto' | 'none' }>;

export function isStrategy(next: NextValue): next is PagingStrategy {
  return next.kind !== 'auto' && next.kind !== 'none';
}

/** Returns the requests for the next page as the contract says; none if the page has nothing to request one with. */
export function stepsBy(
  strategy: PagingStrategy,
  page: PageResponse,
  { step }: Progress,
  lastId: string | undefined,
): readonly PageStep[] {
  if (strategy.kind === 'header' || strategy.kind === 'link' || strategy.kind === 'token') {
    const source = strategy.kind === 'header' ? ['header', 'link'] : strategy.source;
    const value = textAt(source, page);
    const path = source.join('.');
    if (value === undefined) return [];
    return strategy.kind === 'token'
      ? [{ kind: 'token', path, parameter: strategy.parameter, value }]
      : [{ kind: 'link', path, value }];
  }
  if (page.itemCount === 0) return [];
  const { kind, parameter } = strategy;
  if (kind === 'after') return lastId === undefined ? [] : [{ kind, parameter, value: lastId }];
  const distance = kind === 'page' ? 1 : page.itemCount;
  if (step?.kind === kind) return [{ kind, parameter, value: step.value + distance }];
  const given = strategy.kind === 'page' ? strategy.first : 0;
  const first = numbersOf(readSigns(page), kind).find(isStart)?.value ?? given;
  // Page 1 repeats the first page, or is the second one if pages count from 0.
  const firsts = first === undefined ? [0, 1] : [first];
  return firsts.map((value) => ({ kind, parameter, value: value + distance }));
}

/** Returns the link or token at a path; undefined if there is none. */
function textAt(path: readonly string[], page: PageResponse): string | undefined {
  const value = valueAt(path, page);
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
  return isText && value !== '' && !(Number(value) < 0) ? String(value) : undefined;
}
