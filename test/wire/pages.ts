import type { Fact, Resource } from './facts.ts';
import { inCase, listStyle, type Page, type Service, show, type Wire } from './service.ts';

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, unless undefined. */
  readonly body?: unknown;
  /** Whether it says that something was created, or is there. */
  readonly isWrite?: true;
  /** Which page of which list it is, from 1. */
  readonly page?: { readonly resource: Resource; readonly number: number };
}

/** A failure of a request, which the service words in its own way. */
export class Failed extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, sentence: string) {
    super(sentence);
    this.status = status;
    this.code = code;
  }
}

/** The failure of a request that lacks a parameter. */
export function required(name: string): Failed {
  return new Failed(400, 'missing_parameter', `The parameter ${name} is required.`);
}

/** The most items that a request gets on a page. */
const MAX_SIZE = 100;

interface ListRequest {
  readonly service: Service;
  readonly url: URL;
  readonly body: Wire;
}

/**
 * Sends the page of a list that a request selects.
 * @param own the names of query parameters that are not for paging
 */
export function sendList(
  { service, url, body }: ListRequest,
  resource: Resource,
  facts: readonly Fact[],
  own: string[] = [],
): Answer {
  const { paging, size: pageSize, list, headers } = listStyle(service, resource);
  const ids = facts.map((fact) => fact[`${resource}_id`]);
  const asksSize = paging?.size === undefined ? 0 : Number(url.searchParams.get(paging.size));
  const size = paging ? Math.min(asksSize || pageSize, MAX_SIZE) : Math.max(1, facts.length);
  const known = [...own, ...(paging ? [paging.parameter, paging.size ?? ''] : [])];
  const unknown = [...url.searchParams.keys()].filter((name) => !known.includes(name));
  if (service.isStrict && unknown.length > 0) throw new Failed(400, 'unknown_parameter', `${unknown} is not allowed.`);
  const asked = paging && (url.searchParams.get(paging.parameter) ?? body[paging.parameter]);
  const from = paging ? firstItem(paging, String(asked ?? ''), size, ids) : 0;
  const end = Math.min(from + size, facts.length);
  const hasNext = end < facts.length;
  const number = Math.floor(from / size) + 1;
  const values = {
    page: number + (paging?.first ?? 1),
    offset: end,
    token: tokenFor(end),
    'last id': idAt(ids, end - 1),
  };
  const nextValue = paging && hasNext ? values[paging.by] : null;
  const next = new URL(url);
  next.searchParams.set(paging?.parameter ?? '', String(nextValue));
  const page: Page = {
    items: facts.slice(from, end).map((fact) => show(service, resource, fact)),
    key: inCase(`${resource}s`, service.casing),
    from,
    size,
    total: facts.length,
    number: number - 1 + (paging?.first ?? 1),
    pages: Math.max(1, Math.ceil(facts.length / size)),
    next: nextValue === null ? null : next.href,
    nextPath: nextValue === null ? null : next.pathname + next.search,
    nextValue,
    hasNext,
    firstId: idAt(ids, from),
    lastId: idAt(ids, end - 1),
    url: url.href,
  };
  return { status: 200, headers: headers?.(page) ?? {}, body: list(page), page: { resource, number } };
}

function idAt(ids: readonly unknown[], index: number): string | number | null {
  const id = ids[index];
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

function tokenFor(from: number): string {
  return Buffer.from(`{"seek":${from},"v":2}`).toString('base64url');
}

function firstItem(
  { by, first, parameter }: NonNullable<Service['paging']>,
  text: string,
  size: number,
  ids: readonly unknown[],
): number {
  if (text === '') return 0;
  const invalid = new Failed(400, 'invalid_parameter', `${parameter} is invalid.`);
  if (by === 'last id') {
    if (!ids.map(String).includes(text)) throw invalid;
    return ids.map(String).indexOf(text) + 1;
  }
  const number = by === 'token' ? /^\{"seek":(\d+),/.exec(Buffer.from(text, 'base64url').toString())?.[1] : text;
  if (number === undefined || !/^\d+$/.test(number)) throw invalid;
  return by === 'page' ? Math.max(0, Number(number) - first) * size : Number(number);
}
