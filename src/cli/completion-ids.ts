import { hash } from 'node:crypto';
import { promises, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { type ContractKey, contractKey } from '../config/contract-file.ts';
import { Paged } from '../platform/paged.ts';
import type { Candidate, LiveKind } from './completion.ts';
import type { Context } from './context.ts';

/* What lists have shown, for completion: a file for each profile, service, and kind. */

type IdKind = Exclude<LiveKind, 'profile'>;

type IdField = 'space_id' | 'external_space_id' | 'agent_id' | 'cron_job_id' | 'name';
type Listed = Readonly<Partial<Record<IdField, string | null | undefined>>>;

/** Not many more are kept: a Tab reads them all. */
const MAX_WORDS = 10_000;

/** With a configuration directory of its own, such as in a sandbox, a command has a cache of its own. */
function cachePath({ env, runtime }: Context, { profile, baseUrl }: ContractKey, kind: IdKind): string {
  const { PARTNER_CONFIG_DIR, XDG_CACHE_HOME = '' } = env;
  const caches = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(runtime.home, '.cache');
  const directory = PARTNER_CONFIG_DIR ? join(PARTNER_CONFIG_DIR, 'cache') : join(caches, 'partnerctl');
  const name = hash('sha256', JSON.stringify([profile, baseUrl]), 'hex').slice(0, 16);
  return join(directory, 'words', `${name}-${kind}.json`);
}

/** The words for an item: its id, and with their prefixes its external id and its name, by which no job is named. */
function wordsOf({ name, external_space_id, ...ids }: Listed, kind: IdKind): readonly Candidate[] {
  const words = {
    space: [ids.space_id, external_space_id && `ext:${external_space_id}`, name && `name:${name}`],
    agent: [ids.agent_id, name && `name:${name}`],
    cron_job_id: [ids.cron_job_id],
  };
  return words[kind].flatMap((value) => (value ? [{ value, description: name ?? '' }] : []));
}

/** Reads the words for what lists of a service have shown. A file that is missing or damaged has none. */
export function readKnownIds(context: Context, service: ContractKey, kind: IdKind): readonly Candidate[] {
  try {
    const words: unknown = JSON.parse(readFileSync(cachePath(context, service, kind), 'utf8'));
    return Array.isArray(words) ? words.filter((word) => typeof word?.value === 'string') : [];
  } catch {
    return [];
  }
}

/** Puts words before those of earlier lists. Stores nothing in CI, where nobody presses Tab. */
async function store(context: Context, kind: IdKind, words: readonly Candidate[]): Promise<void> {
  if (context.env.CI) return;
  const service = contractKey(context);
  const listed = new Set(words.map(({ value }) => value));
  const earlier = readKnownIds(context, service, kind).filter(({ value }) => !listed.has(value));
  const text = JSON.stringify([...words, ...earlier].slice(0, MAX_WORDS));
  try {
    const path = cachePath(context, service, kind);
    await promises.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await promises.writeFile(path, context.redactor.redact(text), { mode: 0o600 });
  } catch {
    // Such as a home that cannot be written. It is of no consequence to the list.
  }
}

/**
 * Stores the ids of a list, once all of it was read. Earlier ids stay: this list may be that of one space, and the API
 * removes nothing.
 * @returns the items, page by page
 */
export function rememberIds<Item extends Listed>(
  context: Context,
  kind: IdKind,
  items: AsyncIterable<Item>,
): Paged<Item> {
  async function* pages(): AsyncGenerator<readonly Item[]> {
    let words: readonly Candidate[] = [];
    for await (const page of Paged.of(items).pages) {
      if (words.length < MAX_WORDS) words = words.concat(page.flatMap((item) => wordsOf(item, kind)));
      yield page;
    }
    await store(context, kind, words);
  }
  return new Paged(pages());
}
