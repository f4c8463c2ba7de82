import type { CachedKind } from './complete.ts';
import type { Described } from './tree.ts';

/*
 * The cache is a directory for each profile and service, with a file for each kind of value. A line is a value, its
 * description, and its owner, separated by tabs. Lines are sorted by value, so that those with a prefix are found without
 * parsing a large file.
 */

/** A value in the cache. */
export interface CacheLine {
  readonly value: string;
  readonly description: string;
  /** An agent's space_id, a session's source_id, or a space's own id. */
  readonly owner: string;
}

/** The outcome of the last refreshes. */
export interface CacheStatus {
  /** When the last refresh ended, in milliseconds since the epoch. */
  readonly at: number;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
  /** How many refreshes have failed since the last successful one. */
  readonly failures: number;
  /** The spaces whose agents were read. */
  readonly spaces: readonly string[];
}

const INTERVAL_MS = 60_000;
const MAX_INTERVAL_MS = 3_600_000;
/** Refreshes take up at most this fraction of the time. */
const MAX_LOAD = 1 / 30;
/** Longer than the --timeout of a refresh in entry.ts. */
const MIN_INTERVAL_MS = 20_000;

/** Returns the directory name for a profile and service: short, letters and digits only (the hash cyrb53). */
export function cacheName(profile: string, baseUrl: string): string {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (const character of `${profile}\n${baseUrl}`) {
    const code = character.codePointAt(0) ?? 0;
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return (4_294_967_296 * (2_097_151 & low) + (high >>> 0)).toString(36);
}

/**
 * Whether the cache is due for a refresh: a minute after the last one, or later if that took long or failed. Pure.
 * @param lockedAt when the last refresh began, in milliseconds since the epoch
 * @param space the space_id whose agents are wanted
 */
export function isDue(status: CacheStatus, now: number, lockedAt: number, space: string | undefined): boolean {
  const { at, tookMs, failures, spaces } = status;
  // If the clock was set back, refresh.
  const isPast = (time: number, ms: number): boolean => now >= time + ms || now < time;
  if (!isPast(lockedAt, MIN_INTERVAL_MS)) return false;
  if (space !== undefined && failures === 0 && at > 0 && !spaces.includes(space)) return true;
  const interval = Math.max(INTERVAL_MS, tookMs / MAX_LOAD) * 2 ** Math.min(failures, 10);
  return isPast(Math.max(at, lockedAt), Math.min(interval, MAX_INTERVAL_MS));
}

/** The prefixes of references to a space or an agent. */
const PREFIXES: Readonly<Partial<Record<CachedKind, readonly string[]>>> = {
  space: ['ext:', 'name:'],
  agent: ['name:'],
};

/** Returns the name of the file for a kind of value. @param prefix for references, such as `name:` */
export function cacheFile(kind: CachedKind, prefix = ''): string {
  return `${kind}${prefix === '' ? '' : `.${prefix.slice(0, -1)}`}.tsv`;
}

/** Formats the lines of a file, sorted and without duplicates. */
export function formatCacheLines(lines: readonly CacheLine[]): string {
  const rows = lines.map(({ value, description, owner }) => `${value}\t${description}\t${owner}\n`);
  return [...new Set(rows)].sort((a, b) => (a < b ? -1 : 1)).join('');
}

function readLine(text: string, start: number): CacheLine {
  const end = text.indexOf('\n', start);
  const [value = '', description = '', owner = ''] = text.slice(start, end === -1 ? undefined : end).split('\t');
  return { value, description, owner };
}

/**
 * Finds the lines whose values start with `typed`.
 * @param owner finds only lines of this owner
 * @returns at most `limit` lines, including the last one, because shells insert the common prefix of all matches
 */
function findLines(
  text: string,
  typed: string,
  { limit, owner }: { readonly limit: number; readonly owner?: string | undefined },
): readonly CacheLine[] {
  const lines = `\n${text}`;
  const found: CacheLine[] = [];
  let at = lines.indexOf(`\n${typed}`);
  while (at !== -1 && at + 1 < lines.length && lines.startsWith(typed, at + 1)) {
    const line = readLine(lines, at + 1);
    if (owner === undefined || line.owner === owner) found.push(line);
    at = lines.indexOf('\n', at + 1);
    if (found.length < limit || owner !== undefined) continue;
    const last = readLine(lines, lines.lastIndexOf(`\n${typed}`, lines.length - 2) + 1);
    return last.value === line.value ? found : [...found.slice(0, -1), last];
  }
  const last = found.at(-1);
  return found.length <= limit || !last ? found : [...found.slice(0, limit - 1), last];
}

/** Returns the file for a reference such as `name:Acme`, or for an id. */
function fileOf(kind: CachedKind, typed: string): string {
  return cacheFile(
    kind,
    PREFIXES[kind]?.find((prefix) => typed.startsWith(prefix)),
  );
}

const MAX_VALUES = 100;

/** A search in the cache. */
export interface CacheQuery {
  readonly resource: CachedKind;
  readonly typed: string;
  /** As typed. */
  readonly space: string | undefined;
  readonly source: string | undefined;
}

/** Returns the space_id of a space as typed. @returns undefined if the cache does not know it, or if it is ambiguous */
export function findSpaceId(space: string | undefined, read: (file: string) => string): string | undefined {
  if (space === undefined) return undefined;
  const found = findLines(read(fileOf('space', space)), `${space}\t`, { limit: 2 });
  return found.length === 1 ? found[0]?.owner : undefined;
}

/** Returns the cached values that complete a word. @param read returns the text of a cache file, or '' */
export function findCached(
  { resource, typed, space, source }: CacheQuery,
  read: (file: string) => string,
): readonly Described[] {
  const owner =
    resource === 'agent' && space !== undefined
      ? (findSpaceId(space, read) ?? '')
      : resource === 'session'
        ? source
        : undefined;
  // Agent names are only unique in their space.
  const mayUseReferences = resource !== 'agent' || space !== undefined;
  const prefixes = PREFIXES[resource] ?? [];
  const isReference = prefixes.some((prefix) => typed.startsWith(prefix));
  if (isReference && !mayUseReferences) return [];
  const found = findLines(read(fileOf(resource, typed)), typed, { limit: MAX_VALUES, owner });
  const values = found.map(({ value, description }): Described => [value, description]);
  if (isReference || !mayUseReferences) return values;
  const begun = prefixes.filter((prefix) => prefix.startsWith(typed) && read(cacheFile(resource, prefix)) !== '');
  return [...values, ...begun.map((prefix): Described => [prefix, ''])];
}
