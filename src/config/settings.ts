import type { Environment } from '../cli/io.ts';
import { UsageError } from '../errors.ts';
import { parseBaseUrl } from './base-url.ts';
import type { Profile, Profiles } from './profiles.ts';

/** The global flags, as typed. */
export interface GlobalFlags {
  readonly profile?: string;
  readonly baseUrl?: string;
  readonly tokenFile?: string;
  readonly output?: string;
  readonly query?: string;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  readonly color: string;
  /** False with --no-input: nothing is asked. */
  readonly input: boolean;
  /** Milliseconds for the whole command. */
  readonly timeoutMs?: number;
  readonly retries?: number;
  readonly state?: string;
}

/** A value and where it came from, in words: `--base-url`, `PARTNER_BASE_URL`, `profile acme`. */
export interface Sourced<Value> {
  readonly value: Value;
  readonly from: string;
}

export type TokenSource =
  | { readonly kind: 'file'; readonly path: string; readonly from: string }
  | { readonly kind: 'text'; readonly token: string; readonly from: string }
  | { readonly kind: 'command'; readonly command: string; readonly from: string };

export interface ServiceSettings {
  readonly profile: Sourced<string>;
  readonly baseUrl: Sourced<string>;
  readonly token: TokenSource | undefined;
  /** What was configured as well and lost, for -v: `PARTNER_BASE_URL (https://…) gives way to --base-url`. */
  readonly shadowed: readonly string[];
}

/** The name of the profile that counts, and who said so. */
export function resolveProfileName(flags: GlobalFlags, env: Environment, profiles: Profiles): Sourced<string> {
  if (flags.profile !== undefined) return { value: flags.profile, from: '--profile' };
  if (env.PARTNER_PROFILE) return { value: env.PARTNER_PROFILE, from: 'PARTNER_PROFILE' };
  return { value: profiles.current, from: 'the current profile' };
}

function selectProfile(name: Sourced<string>, profiles: Profiles): Profile {
  const profile = Object.hasOwn(profiles.profiles, name.value) ? profiles.profiles[name.value] : undefined;
  if (profile) return profile;
  if (name.from === 'the current profile') return {};
  const known = Object.keys(profiles.profiles);
  throw new UsageError(`There is no profile ${JSON.stringify(name.value)} (from ${name.from}).`, {
    hint:
      known.length > 0
        ? `There are: ${known.join(', ')}.`
        : 'There are none yet; `partnerctl login --profile <name>` makes one.',
  });
}

function baseUrls(flags: GlobalFlags, env: Environment, profile: Profile, name: string): Sourced<string>[] {
  return [
    { value: flags.baseUrl, from: '--base-url' },
    { value: env.PARTNER_BASE_URL || undefined, from: 'PARTNER_BASE_URL' },
    { value: profile.base_url, from: `profile ${name}` },
  ].flatMap(({ value, from }) => (value === undefined ? [] : [{ value, from }]));
}

function tokens(flags: GlobalFlags, env: Environment, profile: Profile, name: string): TokenSource[] {
  const from = `profile ${name}`;
  const found: TokenSource[] = [];
  if (flags.tokenFile !== undefined) found.push({ kind: 'file', path: flags.tokenFile, from: '--token-file' });
  if (env.PARTNER_TOKEN) found.push({ kind: 'text', token: env.PARTNER_TOKEN, from: 'PARTNER_TOKEN' });
  if (profile.token_command) found.push({ kind: 'command', command: profile.token_command, from });
  if (profile.token) found.push({ kind: 'text', token: profile.token, from });
  return found;
}

function gaveWay(what: string, all: readonly { readonly from: string }[]): string[] {
  const [won, ...lost] = all;
  return won ? lost.map(({ from }) => `the ${what} from ${from} gives way to ${won.from}`) : [];
}

/** Whether flags and environment name the service and the token, so that no profile has a say. */
export function namesServiceAndToken(flags: GlobalFlags, env: Environment): boolean {
  const named = flags.profile !== undefined || Boolean(env.PARTNER_PROFILE);
  const service = flags.baseUrl !== undefined || Boolean(env.PARTNER_BASE_URL);
  const token = flags.tokenFile !== undefined || Boolean(env.PARTNER_TOKEN);
  return !named && service && token;
}

/**
 * The base address that `resolveService` would find.
 * @returns undefined where none is configured
 * @throws UsageError for an unknown profile or an unusable address
 */
export function resolveBaseUrl(flags: GlobalFlags, env: Environment, profiles: Profiles): string | undefined {
  const profile = resolveProfileName(flags, env, profiles);
  const [first] = baseUrls(flags, env, selectProfile(profile, profiles), profile.value);
  return first && parseBaseUrl(first.value, first.from);
}

/**
 * Which service is meant and with which token: a flag wins over the environment, the environment over the profile.
 * Pure; the token itself is fetched by `fetchToken`.
 * @throws UsageError for an unknown profile, or when no usable base address is configured
 */
export function resolveService(flags: GlobalFlags, env: Environment, profiles: Profiles): ServiceSettings {
  const profile = resolveProfileName(flags, env, profiles);
  const stored = selectProfile(profile, profiles);
  const addresses = baseUrls(flags, env, stored, profile.value);
  const sources = tokens(flags, env, stored, profile.value);
  const [first] = addresses;
  if (!first) {
    throw new UsageError('No base address is configured.', {
      hint: 'Give --base-url, set PARTNER_BASE_URL, or run `partnerctl login`. To try things out: `partnerctl sandbox run -- <command>`.',
    });
  }
  return {
    profile,
    baseUrl: { value: parseBaseUrl(first.value, first.from), from: first.from },
    token: sources[0],
    shadowed: [...gaveWay('base address', addresses), ...gaveWay('token', sources)],
  };
}

/**
 * A token that sits in a profile leaves this machine only for that profile's own service.
 * @returns the profile's service when the token is about to go to another one, else undefined
 */
export function crossServiceToken(settings: ServiceSettings, profiles: Profiles): string | undefined {
  const { profile, baseUrl, token } = settings;
  const home = profiles.profiles[profile.value]?.base_url;
  if (!token || token.from !== `profile ${profile.value}` || home === undefined || !URL.canParse(home))
    return undefined;
  return new URL(home).origin === new URL(baseUrl.value).origin ? undefined : home;
}
