import { UnknownShape } from '../assumptions.ts';
import type { Contract } from '../contract.ts';
import { findId } from '../fields.ts';
import { groupBy } from '../group-by.ts';
import { describeJson, type JsonObject } from '../json.ts';
import type { FieldLeaf, LeafName, ListLeaf, OperationLeaf } from '../leaves.ts';
import { listPaths } from '../list-candidates.ts';
import { readList } from '../lists.ts';
import { findHistoryEntries } from '../messages.ts';
import { identify, PageProgress } from '../page-progress.ts';
import { readSigns } from '../page-signs.ts';
import type { Evidence } from './evidence.ts';
import type { Exchange } from './exchange.ts';
import { type PagedRequests, proveNext, type TracedPage } from './next-page.ts';
import type { TracedOperation } from './operations.ts';

const RESOURCES: Readonly<Record<ListLeaf, string>> = {
  'spaces.list': 'spaces',
  'agents.list': 'agents',
  'cron_jobs.list': 'cron_jobs',
  'messages.history': 'messages',
};

const IDS: Readonly<Record<ListLeaf, FieldLeaf>> = {
  'spaces.list': 'space.id',
  'agents.list': 'agent.id',
  'cron_jobs.list': 'cron_job.id',
  'messages.history': 'message.id',
};

/** Whether an operation is a list. */
export function isList(leaf: OperationLeaf): leaf is ListLeaf {
  return Object.hasOwn(RESOURCES, leaf);
}

/** Reads the items of a list's response, as the client does. @throws UnknownShape */
function readItems(body: unknown, list: ListLeaf, contract: Contract): readonly JsonObject[] {
  const place = contract.items(list);
  if (list === 'messages.history' && place === undefined) return findHistoryEntries(body);
  return readList(body, RESOURCES[list], place);
}

function tryItems(body: unknown, list: ListLeaf, contract: Contract): readonly JsonObject[] | UnknownShape {
  try {
    return readItems(body, list, contract);
  } catch (error) {
    if (error instanceof UnknownShape) return error;
    throw error;
  }
}

function idOf(item: JsonObject, leaf: FieldLeaf, contract: Contract): string | undefined {
  try {
    return findId(item, contract, leaf);
  } catch (error) {
    if (error instanceof UnknownShape) return undefined;
    throw error;
  }
}

/** What the responses of a list show. */
export interface TracedList {
  readonly leaf: ListLeaf;
  readonly value: string;
  readonly pages: readonly TracedPage[];
  /** The contract with which the items were read. */
  readonly contract: Contract;
}

function toPages(
  list: ListLeaf,
  exchanges: readonly Exchange[],
  contract: Contract,
): { readonly pages: readonly TracedPage[]; readonly refused: readonly (readonly [Exchange, UnknownShape])[] } {
  const pages: TracedPage[] = [];
  const refused: (readonly [Exchange, UnknownShape])[] = [];
  for (const exchange of exchanges) {
    const items = tryItems(exchange.body, list, contract);
    if (items instanceof UnknownShape) refused.push([exchange, items]);
    else pages.push({ exchange, items, ids: identify(items, (item) => idOf(item, IDS[list], contract)) });
  }
  return { pages, refused };
}

/** Returns the paths to lists that all bodies have. */
function commonPaths(bodies: readonly unknown[]): readonly string[] {
  const [first = [], ...others] = bodies.map(listPaths).filter((paths) => paths.length > 0);
  return first.filter((path) => others.every((paths) => paths.includes(path)));
}

/**
 * Reads the responses of a list. If the contract does not find the items, searches for the only path that has a list of
 * objects in all responses.
 */
export function readTracedList(
  { leaf: operation, value, exchanges }: TracedOperation,
  list: ListLeaf,
  contract: Contract,
  evidence: Evidence,
): TracedList {
  const leaf = `${operation}.items` as LeafName & `${ListLeaf}.items`;
  const { pages, refused } = toPages(list, exchanges, contract);
  const [first] = refused.filter(([, error]) => error.fix?.leaf === leaf);
  if (first === undefined) return { leaf: list, value, pages, contract };
  const [exchange, error] = first;
  const paths = commonPaths(refused.map(([{ body }]) => body));
  const unreadable = refused.map(([each]) => each);
  for (const each of paths) evidence.add(leaf, each, `${value}: ${describeJson(exchange.body)}`, unreadable);
  if (paths.length === 0) evidence.ask(leaf, `line ${exchange.line}, ${value}: ${error.message} It is ${error.seen}.`);
  const [path] = paths;
  if (path === undefined || paths.length > 1) return { leaf: list, value, pages, contract };
  const learned = contract.withObserved(leaf, path);
  return { leaf: list, value, pages: toPages(list, exchanges, learned).pages, contract: learned };
}

/** Adds how the next page of a list is requested, if the trace proves it. Otherwise asks, if there are more pages. */
export function addNext(list: TracedList, requests: PagedRequests, evidence: Evidence): void {
  const leaf = `${list.leaf}.next` as const;
  const byPath = groupBy(list.pages, ({ exchange }) => exchange.path);
  let isProved = false;
  for (const pages of byPath.values()) {
    for (const { strategy, announced, from, to } of proveNext(pages, requests)) {
      isProved = true;
      const seen = `${list.value}: announced with ${announced}, requested in line ${to.line}, and new items came`;
      evidence.add(leaf, strategy, seen, [from]);
    }
  }
  if (isProved || list.contract.next(list.leaf).kind !== 'auto') return;
  for (const page of list.pages) {
    const sign = openSign(page);
    if (sign === undefined) continue;
    const where = `line ${page.exchange.line}, ${list.value}: ${sign}`;
    evidence.ask(leaf, `${where} announces more, but no request in the trace fetched it`);
    return;
  }
}

/** Returns the sign with which a page announces more; undefined if it does not. */
function openSign({ exchange, items, ids }: TracedPage): string | undefined {
  const { body, headers, status, headerLinks } = exchange;
  const signs = readSigns({ body, headers, status, itemCount: items.length, headerLinks });
  const progress = new PageProgress();
  progress.add(ids, 0, signs);
  return progress.outlook(signs, items.length).certain[0]?.replace(/:.*/, '');
}
