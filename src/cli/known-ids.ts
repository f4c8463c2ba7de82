import { hash, randomUUID } from 'node:crypto';
import { promises, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { ContractKey } from '../config/contract-file.ts';
import { isJsonObject } from '../contract/json.ts';
import { Paged, pagesOf } from '../platform/paged.ts';
import type { Candidate } from './completion.ts';
import type { Context } from './context.ts';

/* The ids that lists have shown, for completion: a file for each profile and service, which holds ids and names. */

/** An id that a list has shown. */
export interface KnownId extends Candidate {
  readonly kind: 'space' | 'agent' | 'job' | 'key';
}

/** With a configuration directory of its own, such as in a sandbox, a command has a cache of its own. */
function cacheDirectory({ PARTNER_CONFIG_DIR, XDG_CACHE_HOME = '' }: Context['env'], home: string): string {
  if (PARTNER_CONFIG_DIR) return join(PARTNER_CONFIG_DIR, 'cache');
  return join(isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(home, '.cache'), 'partnerctl');
}

function cachePath({ env, runtime }: Context, { profile, baseUrl }: ContractKey): string {
  const name = hash('sha256', JSON.stringify([profile, baseUrl]), 'hex').slice(0, 16);
  return join(cacheDirectory(env, runtime.home), 'ids', `${name}.json`);
}

function isKnownId(value: unknown): value is KnownId {
  if (!isJsonObject(value)) return false;
  const { aliases = [], within = '' } = value;
  const areTexts = [value.kind, value.value, value.description, within].every((each) => typeof each === 'string');
  return areTexts && Array.isArray(aliases) && aliases.every((each) => typeof each === 'string');
}

/** Reads the ids that lists of a service have shown. A file that is missing or damaged has none. */
export function readKnownIds(context: Context, service: ContractKey): readonly KnownId[] {
  try {
    const ids: unknown = JSON.parse(readFileSync(cachePath(context, service), 'utf8'));
    return Array.isArray(ids) ? ids.filter(isKnownId) : [];
  } catch {
    return [];
  }
}

/** More are not kept: a Tab reads them all. */
const MAX_IDS = 10_000;

/** What a list replaces: all ids of its kinds or, of agents, those of one space. */
interface Scope {
  readonly kinds: readonly KnownId['kind'][];
  readonly within?: string;
}

/** Stores nothing in CI, where nobody presses Tab. A failure is of no consequence to the list. */
async function store(context: Context, shown: readonly KnownId[], { kinds, within }: Scope): Promise<void> {
  if (context.env.CI) return;
  try {
    const service = await context.contractKey();
    const path = cachePath(context, service);
    const isOther = (id: KnownId) => !kinds.includes(id.kind) || (within !== undefined && id.within !== within);
    const ids = [...readKnownIds(context, service).filter(isOther), ...shown].slice(-MAX_IDS);
    const temporary = `${path}.${randomUUID()}.tmp`;
    await promises.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await promises.writeFile(temporary, context.redact(JSON.stringify(ids)), { mode: 0o600 });
    await promises.rename(temporary, path);
  } catch {
    // Such as a home that cannot be written.
  }
}

/**
 * Stores the ids of a list, once all of it was read.
 * @param toIds the ids of an item
 * @returns the items, page by page
 */
export function rememberIds<Item>(
  context: Context,
  items: AsyncIterable<Item>,
  scope: Scope,
  toIds: (item: Item) => readonly KnownId[],
): Paged<Item> {
  async function* pages(): AsyncGenerator<readonly Item[]> {
    const shown: KnownId[] = [];
    for await (const page of pagesOf(items)) {
      if (shown.length < MAX_IDS) shown.push(...page.flatMap(toIds));
      yield page;
    }
    await store(context, shown, scope);
  }
  return new Paged(pages());
}
