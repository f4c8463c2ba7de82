import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheName } from './cache.ts';
import type { ParsedLine } from './parse-line.ts';
import { isRecord, parseRecord } from './status.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** Where the live values of a command line come from. */
export interface Service {
  readonly directory: string;
  /** What starts a refresh of them; undefined if none may be started. */
  readonly refreshFlags: readonly string[] | undefined;
}

interface Profiles {
  readonly current: string;
  readonly profiles: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Reads a file. @returns '' if it cannot be read */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Reads the profiles. What is damaged does not exist here: the program reports it. */
export function readProfiles(directory: string): Profiles {
  const { current, profiles } = parseRecord(readText(join(directory, 'config.json')));
  const entries = Object.entries(isRecord(profiles) ? profiles : {});
  return {
    current: typeof current === 'string' ? current : 'default',
    profiles: Object.fromEntries(entries.flatMap(([name, profile]) => (isRecord(profile) ? [[name, profile]] : []))),
  };
}

function normalizeUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/**
 * Finds the service by the same precedence as the program.
 *
 * A refresh sends the token although nobody has pressed Enter yet, and must not ask anyone for it. So it is started only for
 * a token in the environment or in the file of the profile, and never for a service or a token that the line names. A profile
 * that the line names is refreshed only with its own token.
 * @returns undefined if no service is configured
 */
export function findService({ typed }: ParsedLine, env: Env, directory: string): Service | undefined {
  const stored = readProfiles(directory);
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
  const isOfLine = typedUrl !== undefined || typed.has('--token-file');
  const mayRefresh =
    typedProfile === undefined ? isStored || env.PARTNER_TOKEN : isStored && !env.PARTNER_TOKEN && !givenUrl;
  const isOff = env.PARTNER_COMPLETION === 'offline';
  // The contract of a service without a profile is that of the default profile, and so is its cache.
  const cacheProfile = named === undefined && givenUrl !== undefined ? 'default' : name;
  return {
    directory: join(directory, 'completion', cacheName(cacheProfile, normalizeUrl(baseUrl))),
    refreshFlags:
      isOff || isOfLine || !mayRefresh ? undefined : typedProfile === undefined ? [] : ['--profile', typedProfile],
  };
}
