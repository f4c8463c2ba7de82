import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject } from '../contract/json.ts';
import type { Environment } from '../platform/io.ts';
import { cacheName } from './cache.ts';
import type { ParsedLine } from './parse-line.ts';
import { parseJsonObject } from './status.ts';

/** The cache of the service that a command line calls. */
export interface ServiceCache {
  readonly directory: string;
  /** The flags of `completion refresh`; undefined if no refresh may be started. */
  readonly refreshFlags: readonly string[] | undefined;
}

interface Profiles {
  readonly current: string;
  readonly profiles: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Reads a file. @returns '' if it cannot be read */
export function readTextOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Reads the profiles. Ignores damaged ones, which other commands report. */
export function readProfilesLeniently(directory: string): Profiles {
  const { current, profiles } = parseJsonObject(readTextOrEmpty(join(directory, 'config.json')));
  const entries = Object.entries(isJsonObject(profiles) ? profiles : {});
  return {
    current: typeof current === 'string' ? current : 'default',
    profiles: Object.fromEntries(
      entries.flatMap(([name, profile]) => (isJsonObject(profile) ? [[name, profile]] : [])),
    ),
  };
}

function normalizeUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/**
 * Finds the cache of the service, with the same precedence of settings as commands.
 *
 * A refresh sends the token before the user presses Enter, and must not prompt. So it may only be started for a token in the
 * environment or in the profile's file, never for a service or a token that the command line names. A profile that the command
 * line names may only be refreshed with its own token.
 * @param directory the directory of the profiles
 * @returns undefined if no service is configured
 */
export function findServiceCache({ typed }: ParsedLine, env: Environment, directory: string): ServiceCache | undefined {
  const stored = readProfilesLeniently(directory);
  const typedProfile = typed.get('--profile')?.at(-1);
  const named = typedProfile ?? (env.PARTNER_PROFILE || undefined);
  const typedUrl = typed.get('--base-url')?.at(-1);
  const givenUrl = typedUrl ?? (env.PARTNER_BASE_URL || undefined);
  const name = named ?? stored.current;
  const profile = Object.hasOwn(stored.profiles, name) ? stored.profiles[name] : undefined;
  const baseUrl = givenUrl ?? profile?.base_url;
  if (typeof baseUrl !== 'string') return undefined;
  const { token_command: command, keychain_account: account, token } = profile ?? {};
  const isStored = typeof token === 'string' && !command && !account;
  const isTyped = typedUrl !== undefined || typed.has('--token-file');
  const mayRefresh =
    typedProfile === undefined ? isStored || env.PARTNER_TOKEN : isStored && !env.PARTNER_TOKEN && !givenUrl;
  const isOffline = env.PARTNER_COMPLETION === 'offline';
  // A service without a profile has the contract of the default profile (see `contractProfile`), and so its cache.
  const cacheProfile = named === undefined && givenUrl !== undefined ? 'default' : name;
  return {
    directory: join(directory, 'completion', cacheName(cacheProfile, normalizeUrl(baseUrl))),
    refreshFlags:
      isOffline || isTyped || !mayRefresh ? undefined : typedProfile === undefined ? [] : ['--profile', typedProfile],
  };
}
