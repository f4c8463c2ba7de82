import { UnknownShape } from '../contract/assumptions.ts';
import type { Contract } from '../contract/contract.ts';
import { resourceOf } from '../contract/field-names.ts';
import { fieldsOf, findId } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import type { FieldLeaf, ListLeaf } from '../contract/leaves.ts';
import { statedSizes } from '../contract/paging.ts';
import type { FetchedPage } from './fetch-page.ts';

const ID_LEAVES: Readonly<Record<ListLeaf, FieldLeaf>> = {
  'spaces.list': 'space.id',
  'agents.list': 'agent.id',
  'cron_jobs.list': 'cron_job.id',
  'messages.history': 'message.id',
};

/** What was read of a list. Holds a fingerprint of each item, not the items. */
export class ListProgress {
  /** How many different items were read. */
  items = 0;
  pages = 0;
  /** How many pages in a row had no items. */
  emptyPages = 0;
  private readonly contract: Contract;
  private readonly leaf: FieldLeaf;
  private readonly seen = new Set<number>();
  /** The smallest and the largest value of each number that states the size of the list. */
  private readonly sizes = new Map<string, readonly [number, number]>();

  constructor(contract: Contract, list: ListLeaf) {
    this.contract = contract;
    this.leaf = ID_LEAVES[list];
  }

  /** Adds a page. @returns its items that no earlier page had */
  add({ items, paging }: FetchedPage): readonly JsonObject[] {
    const fresh = this.pages === 0 ? items : this.remember(items);
    this.pages += 1;
    this.items += fresh.length;
    this.emptyPages = items.length === 0 ? this.emptyPages + 1 : 0;
    for (const { path, value } of statedSizes(paging)) {
      const [least = value, most = value] = this.sizes.get(path) ?? [];
      this.sizes.set(path, [Math.min(least, value), Math.max(most, value)]);
    }
    return fresh;
  }

  /** Remembers items: those of the first page only if another one is requested. @returns those that were not known */
  remember(items: readonly JsonObject[]): readonly JsonObject[] {
    const keys = items.map((item) => this.identify(item));
    const fresh = items.filter((_, index) => !this.seen.has(keys[index] ?? 0));
    for (const key of keys) this.seen.add(key);
    return fresh;
  }

  /** Returns a stated size of the list that differs from what was read: `total: 5, and 6 read`. */
  mismatch(): string | undefined {
    const wrong = [...this.sizes].find(([, [least, most]]) => this.items < least || this.items > most);
    return wrong && `${wrong[0]}: ${wrong[1][1]}, and ${this.items} read`;
  }

  has(item: JsonObject): boolean {
    return this.seen.has(this.identify(item));
  }

  /** Returns the id of the last item, as `idOf`. */
  lastId(items: readonly JsonObject[]): string | undefined {
    const last = items.at(-1);
    return last && this.idOf(last);
  }

  /** Returns the id of an item; undefined if it has none, or several that disagree. */
  private idOf(item: JsonObject): string | undefined {
    try {
      return findId(item, this.contract, this.leaf);
    } catch (error) {
      if (error instanceof UnknownShape) return undefined;
      throw error;
    }
  }

  /** Returns the id of an item. @throws UnknownShape if it has none, or several that disagree */
  readId(item: JsonObject): string {
    return fieldsOf(item, resourceOf(this.leaf), this.contract).readId(this.leaf);
  }

  private identify(item: JsonObject): number {
    return fingerprint(this.idOf(item) ?? JSON.stringify(item, bigintAsText));
  }
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}

/** Returns a 53-bit hash. */
export function fingerprint(text: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}
