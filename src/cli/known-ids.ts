import { hash } from 'node:crypto';
import { promises, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { ContractKey } from '../config/contract-file.ts';
import { isJsonObject } from '../contract/json.ts';
import { Paged, pagesOf } from '../platform/paged.ts';
import type { Candidate } from './completion.ts';
import type { Context } from './context.ts';

/* The ids that lists have shown, for completion: a file for each profile and service, which holds ids and names. */

/** An id that a list has shown, or another word for it, such as `name:Acme`. */
export interface KnownId extends Candidate {
  readonly kind: 'space' | 'agent' | 'job' | 'key';
}

/** With a configuration directory of its own, such as in a sandbox, a command has a cache of its own. */
function cachePath({ env, runtime }: Pick<Context, 'env' | 'runtime'>, { profile, baseUrl }: ContractKey): string {
  const { PARTNER_CONFIG_DIR, XDG_CACHE_HOME = '' } = env;
  const caches = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(runtime.home, '.cache');
  const directory = PARTNER_CONFIG_DIR ? join(PARTNER_CONFIG_DIR, 'cache') : join(caches, 'partnerctl');
  const name = hash('sha256', JSON.stringify([profile, baseUrl]), 'hex').slice(0, 16);
  return join(directory, 'ids', `${name}.json`);
}

function isKnownId(value: unknown): value is KnownId {
  return isJsonObject(value) && [value.kind, value.value, value.description].every((each) => typeof each === 'string');
}

/** Reads the ids that lists of a service have shown. A file that is missing or damaged has none. */
export function readKnownIds(context: Pick<Context, 'env' | 'runtime'>, service: ContractKey): readonly KnownId[] {
  try {
    const ids: unknown = JSON.parse(readFileSync(cachePath(context, service), 'utf8'));
    return Array.isArray(ids) ? ids.filter(isKnownId) : [];
  } catch {
    return [];
  }
}

/** More are not kept: a Tab reads them all. */
const MAX_IDS = 10_000;

/** Stores nothing in CI, where nobody presses Tab. A failure is of no consequence to the list. */
async function store(context: Context, kinds: readonly KnownId['kind'][], shown: readonly KnownId[]): Promise<void> {
  if (context.env.CI) return;
  try {
    const service = await context.contractKey();
    const path = cachePath(context, service);
    const others = readKnownIds(context, service).filter(({ kind }) => !kinds.includes(kind));
    await promises.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const ids = JSON.stringify([...others, ...shown].slice(-MAX_IDS));
    await promises.writeFile(path, context.redact(ids), { mode: 0o600 });
  } catch {
    // Such as a home that cannot be written.
  }
}

/**
 * Stores the ids of a list in place of the earlier ones of their kinds, once all of it was read.
 * @param toIds the ids of an item
 * @returns the items, page by page
 */
export function rememberIds<Item>(
  context: Context,
  items: AsyncIterable<Item>,
  kinds: readonly KnownId['kind'][],
  toIds: (item: Item) => readonly KnownId[],
): Paged<Item> {
  async function* pages(): AsyncGenerator<readonly Item[]> {
    const shown: KnownId[] = [];
    for await (const page of pagesOf(items)) {
      if (shown.length < MAX_IDS) shown.push(...page.flatMap(toIds));
      yield page;
    }
    await store(context, kinds, shown);
  }
  return new Paged(pages());
}
