import { join } from 'node:path';
import { configDirectory } from '../config/config-directory.ts';
import type { Environment } from '../platform/io.ts';
import { readBashLine } from './bash-line.ts';
import { findCached, findSpaceId, isDue } from './cache.ts';
import { complete, type Wanted } from './complete.ts';
import { formatForBash, formatForPowerShell, formatLines, type Offer } from './format.ts';
import { lockedAt } from './lock.ts';
import type { CommandLine, ParsedLine } from './parse-line.ts';
import { findServiceCache, readProfilesLeniently, readTextOrEmpty } from './service-cache.ts';
import { parseStatus } from './status.ts';
import type { CompletionTree, Described } from './tree.ts';

/** What the completer needs from its process. */
export interface CompleterDeps {
  readonly env: Environment;
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Returns the `CompletionTree` as JSON. */
  readonly readTree: () => string;
}

/** A refresh to start. */
export interface Refresh {
  readonly directory: string;
  /** The flags of `completion refresh`. */
  readonly flags: readonly string[];
}

/** What to offer, and the refresh to start, if one is due. */
interface Completion {
  readonly offer: Offer;
  readonly refresh?: Refresh;
}

/** Offers values from the cache, and requests a refresh if one is due. */
function offerCached(
  wanted: Extract<Wanted, { kind: 'cached' }>,
  { line, typed }: { readonly line: ParsedLine; readonly typed: string },
  { env, platform, home, now }: CompleterDeps,
): Completion {
  const cache = findServiceCache(line, env, configDirectory(env, platform, home));
  if (!cache) return { offer: { kind: 'values', values: [] } };
  const { directory, refreshFlags } = cache;
  const read = (file: string): string => readTextOrEmpty(join(directory, file));
  const offer: Offer = { kind: 'values', values: withPrefix(wanted.prefix, findCached({ ...wanted, typed }, read)) };
  if (!refreshFlags) return { offer };
  const space = wanted.resource === 'agent' ? findSpaceId(wanted.space, read) : undefined;
  if (!isDue(parseStatus(read('status.json')), now, lockedAt(join(directory, 'lock')), space)) return { offer };
  const flags = space === undefined ? refreshFlags : ['--space', space, ...refreshFlags];
  return { offer, refresh: { directory, flags } };
}

function withPrefix(prefix: string, values: readonly Described[]): readonly Described[] {
  return prefix === '' ? values : values.map(([value, description]) => [prefix + value, description]);
}

function listProfiles({ env, platform, home }: CompleterDeps): readonly Described[] {
  const { profiles } = readProfilesLeniently(configDirectory(env, platform, home));
  return Object.entries(profiles).map(([name, { base_url }]) => [name, typeof base_url === 'string' ? base_url : '']);
}

function completeLine(words: CommandLine, deps: CompleterDeps): Completion {
  const tree: CompletionTree = JSON.parse(deps.readTree());
  const { line, wanted } = complete(tree, words);
  const typed = words.current.slice(wanted.prefix.length);
  switch (wanted.kind) {
    case 'values':
      return { offer: { kind: 'values', values: withPrefix(wanted.prefix, wanted.values) } };
    case 'profiles': {
      const values = listProfiles(deps).filter(([name]) => name.startsWith(typed));
      return { offer: { kind: 'values', values: withPrefix(wanted.prefix, values) } };
    }
    case 'cached':
      return offerCached(wanted, { line, typed }, deps);
    default:
      return { offer: { kind: wanted.kind, prefix: wanted.prefix } };
  }
}

/** Parses the arguments of the script: the current word, the number of words before the cursor, and all words. */
function readWords([current = '', count = '0', ...words]: readonly string[]): CommandLine {
  return { current, before: words.slice(0, Number(count)), after: words.slice(Number(count)) };
}

/**
 * Completes a word.
 * @param shell the shell of the calling script
 * @param args the arguments that the script passes; see scripts.ts
 * @returns the text for the script, and the refresh to start after writing it
 */
export function respond(
  [shell, ...args]: readonly string[],
  deps: CompleterDeps,
): { readonly text: string; readonly refresh: Refresh | undefined } {
  if (shell === 'bash') {
    const [type = '', columns = '', wordBreaks = '', before = '', rest = ''] = args;
    const line = readBashLine(before, rest, wordBreaks);
    const { offer, refresh }: Completion = line.isRedirected
      ? { offer: { kind: 'files' as const, prefix: '' } }
      : completeLine(line, deps);
    return { text: formatForBash(offer, line, { columns: Number(columns) || 80, type }), refresh };
  }
  const isPowerShell = shell === 'powershell';
  // PowerShell loses empty arguments and quotes.
  const words = isPowerShell
    ? Buffer.from(args[0] ?? '', 'base64')
        .toString('utf8')
        .split('\0')
    : args;
  const { offer, refresh } = completeLine(readWords(words), deps);
  return { text: isPowerShell ? formatForPowerShell(offer) : formatLines(offer), refresh };
}
