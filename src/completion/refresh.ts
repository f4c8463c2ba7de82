import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Http } from '../api/http.ts';
import { parseReference, resolveSpaceId } from '../api/references.ts';
import type { Context } from '../cli/context.ts';
import { makeDirectories } from '../config/make-directories.ts';
import { describeFileError, LocalError, PartnerctlError } from '../errors.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import { type CacheLine, type CacheStatus, cacheFile, cacheName, formatCacheLines } from './cache.ts';
import { readKnownIds } from './known-ids.ts';
import { type ReadLists, readLists } from './read-lists.ts';
import { replaceFile } from './replace-file.ts';
import { parseStatus } from './status.ts';

/** The number of values of each kind in the cache. */
export interface Refreshed {
  readonly profile: string;
  readonly base_url: string;
  readonly spaces: number;
  readonly agents: number;
  readonly jobs: number;
  readonly sources: number;
  readonly sessions: number;
}

const MAX_LENGTH = 200;
/** The cache of a service that is unused for this long is removed. */
const UNUSED_AFTER_MS = 30 * 24 * 60 * 60 * 1_000;

type Lines = Readonly<Record<string, readonly CacheLine[]>>;

/** Removes values that cannot be typed or contain a secret, and sanitizes and redacts the descriptions. */
function usable(lines: readonly CacheLine[], redact: (text: string) => string): readonly CacheLine[] {
  const isPlain = (text: string): boolean =>
    text.length <= MAX_LENGTH && sanitizeLine(text) === text && redact(text) === text;
  return lines
    .filter(({ value, owner }) => isPlain(value) && isPlain(owner))
    .map(({ value, description, owner }) => {
      return { value, description: redact(sanitizeLine(description)).slice(0, MAX_LENGTH), owner };
    });
}

/** Removes the caches of services that are no longer used, such as sandboxes. */
async function removeUnused(directory: string, now: number): Promise<void> {
  for (const name of await readdir(dirname(directory)).catch(() => [])) {
    const other = join(dirname(directory), name);
    const used = await stat(join(other, 'lock')).catch(() => stat(other));
    if (other !== directory && now - used.mtimeMs > UNUSED_AFTER_MS) await rm(other, { recursive: true, force: true });
  }
}

/** Returns the lines of each file of the cache. A list that could not be read keeps its current file. */
function toFiles({ space, agent, job }: ReadLists, known: Awaited<ReturnType<typeof readKnownIds>>): Lines {
  const { sources, sessions, jobs, keys } = known;
  const listed = new Set(job?.map(({ value }) => value));
  return {
    ...(space && {
      [cacheFile('space')]: space.ids,
      [cacheFile('space', 'ext:')]: space.ext,
      [cacheFile('space', 'name:')]: space.names,
    }),
    ...(agent && { [cacheFile('agent')]: agent.ids, [cacheFile('agent', 'name:')]: agent.names }),
    // Prefer the list, because the state may have outdated names.
    ...(job && { [cacheFile('job')]: [...job, ...jobs.filter(({ value }) => !listed.has(value))] }),
    [cacheFile('source')]: sources,
    [cacheFile('session')]: sessions,
    [cacheFile('key')]: keys,
  };
}

async function write(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  try {
    await makeDirectories(directory);
    for (const [name, text] of Object.entries(files)) await replaceFile(join(directory, name), text, 0o600);
  } catch (error) {
    const why = describeFileError(error);
    throw new LocalError(`The values for completion in ${directory} cannot be written.`, { why, cause: error });
  }
}

/** Reads the lists and the state. @returns the lines of each file, and the spaces whose agents were read */
async function readAll(
  context: Context,
  http: Http,
  wanted: readonly string[],
): Promise<{ readonly files: Lines; readonly spaces: readonly string[] }> {
  const lists = await readLists(http, wanted);
  if (lists.failure && !lists.space && !lists.job) throw lists.failure;
  return { files: toFiles(lists, await readKnownIds(await context.statePath(), http.baseUrl)), spaces: lists.spaces };
}

/**
 * Reads the ids and names that completion offers, and stores them in the cache. Sends only reads.
 * @param space a space whose agents are wanted, as typed
 * @throws PartnerctlError if no list can be read; the cached values stay
 */
export async function refreshCache(context: Context, space: string | undefined): Promise<Refreshed> {
  const { clock, config, contractKey, redact } = context;
  const { profile, baseUrl } = await contractKey();
  const directory = join(config.directory, 'completion', cacheName(profile, baseUrl));
  const status = parseStatus(await readFile(join(directory, 'status.json'), 'utf8').catch(() => ''));
  const started = clock.now();
  const finish = (change: Partial<CacheStatus>): Promise<void> => {
    const at = clock.now();
    const next = { ...status, at, tookMs: at - started, ...change };
    return write(directory, { 'status.json': `${JSON.stringify(next)}\n` });
  };
  try {
    const http = await context.http();
    const named = space === undefined ? [] : [await resolveSpaceId(http, parseReference(space))];
    const { files, spaces } = await readAll(context, http, [...named, ...status.spaces]);
    const cleaned = Object.entries(files).map(([name, lines]) => [name, usable(lines, redact)] as const);
    await write(directory, Object.fromEntries(cleaned.map(([name, lines]) => [name, formatCacheLines(lines)])));
    await finish({ failures: 0, spaces });
    await removeUnused(directory, clock.now());
    const counts = new Map(cleaned.map(([name, lines]) => [name, lines.length]));
    const count = (kind: Parameters<typeof cacheFile>[0]): number => counts.get(cacheFile(kind)) ?? 0;
    return {
      profile,
      base_url: baseUrl,
      spaces: count('space'),
      agents: count('agent'),
      jobs: count('job'),
      sources: count('source'),
      sessions: count('session'),
    };
  } catch (error) {
    if (error instanceof PartnerctlError) await finish({ failures: status.failures + 1 });
    throw error;
  }
}
