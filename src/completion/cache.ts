import type { LiveKind } from './complete.ts';
import type { Described } from './tree.ts';

/*
 * The cache is a directory for each profile and service, with a file for each kind of value. A line of a file is a value, its
 * description, and what it belongs to, separated by tabs. Lines are sorted by the value, so that even in a large file those
 * that begin with what was typed are found at once, without parsing the others.
 */

/** What the cache knows of a value. */
export interface CacheLine {
  readonly value: string;
  readonly description: string;
  /** Of an agent, its space_id; of a session, its source_id; of a space, its own id. */
  readonly owner: string;
}

/** How often and how successfully the cache was refreshed. */
export interface CacheStatus {
  /** When the last refresh ended, in milliseconds since the epoch. */
  readonly at: number;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
  /** How many refreshes failed since the last one that did not. */
  readonly failures: number;
  /** The spaces whose agents were read. */
  readonly spaces: readonly string[];
}

const INTERVAL_MS = 60_000;
const MAX_INTERVAL_MS = 3_600_000;
/** A refresh takes no more than this part of the time. */
const LOAD = 1 / 30;
/** Longer than a refresh can take: see its --timeout in entry.ts. */
const MIN_INTERVAL_MS = 20_000;

/** A name for the directory of a profile and service: short, and made of letters and digits (53 bits of cyrb53). */
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
 * Whether the cache is to be refreshed: a minute after the last time, later if that took long or failed. Pure.
 * @param lockedAt when the last refresh began, in milliseconds since the epoch
 * @param space the space_id whose agents are wanted
 */
export function isDue(status: CacheStatus, now: number, lockedAt: number, space: string | undefined): boolean {
  const { at, tookMs, failures, spaces } = status;
  // A clock that was set back must not stop it.
  const isPast = (time: number, ms: number): boolean => now >= time + ms || now < time;
  if (!isPast(lockedAt, MIN_INTERVAL_MS)) return false;
  if (space !== undefined && failures === 0 && at > 0 && !spaces.includes(space)) return true;
  const interval = Math.max(INTERVAL_MS, tookMs / LOAD) * 2 ** Math.min(failures, 10);
  return isPast(Math.max(at, lockedAt), Math.min(interval, MAX_INTERVAL_MS));
}

/** The ways to name a space or an agent other than by its id. */
const PREFIXES: Readonly<Partial<Record<LiveKind, readonly string[]>>> = { space: ['ext:', 'name:'], agent: ['name:'] };

/** The name of the file for a kind of value that begins with a prefix such as `name:`. */
export function cacheFile(kind: LiveKind, prefix = ''): string {
  return `${kind}${prefix === '' ? '' : `.${prefix.slice(0, -1)}`}.tsv`;
}

/** Formats the lines of a file, each value of an owner once. */
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
 * Finds the lines whose values begin with what was typed.
 * @param owner only those that belong to it
 * @returns at most `limit`, the last one among them: shells insert what the first and the last one begin with
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

/** The file of the cache that has a value with a reference such as `name:Acme`, or with an id. */
function fileOf(kind: LiveKind, typed: string): string {
  return cacheFile(
    kind,
    PREFIXES[kind]?.find((prefix) => typed.startsWith(prefix)),
  );
}

const MAX_VALUES = 100;

export interface LiveQuery {
  readonly resource: LiveKind;
  readonly typed: string;
  /** As typed. */
  readonly space: string | undefined;
  readonly source: string | undefined;
}

/** Returns the space_id of a space as typed, or undefined if the cache does not know it. */
export function findSpaceId(space: string | undefined, read: (file: string) => string): string | undefined {
  if (space === undefined) return undefined;
  const found = findLines(read(fileOf('space', space)), `${space}\t`, { limit: 2 });
  return found.length === 1 ? found[0]?.owner : undefined;
}

/** Returns the values of the cache that complete a word. @param read returns the text of a file, or '' */
export function findLive(
  { resource, typed, space, source }: LiveQuery,
  read: (file: string) => string,
): readonly Described[] {
  const owner =
    resource === 'agent' && space !== undefined
      ? (findSpaceId(space, read) ?? '')
      : resource === 'session'
        ? source
        : undefined;
  // A name alone does not tell which agent: commands take it only with its space.
  const isNamed = resource !== 'agent' || space !== undefined;
  const prefixes = isNamed ? (PREFIXES[resource] ?? []) : [];
  const isByName = prefixes.some((prefix) => typed.startsWith(prefix));
  if (!isNamed && PREFIXES[resource]?.some((prefix) => typed.startsWith(prefix))) return [];
  const found = findLines(read(fileOf(resource, typed)), typed, { limit: MAX_VALUES, owner });
  const values = found.map(({ value, description }): Described => [value, description]);
  if (isByName) return values;
  const begun = prefixes.filter((prefix) => prefix.startsWith(typed) && read(cacheFile(resource, prefix)) !== '');
  return [...values, ...begun.map((prefix): Described => [prefix, ''])];
}
