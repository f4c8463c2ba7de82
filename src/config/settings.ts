import { UsageError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import { shellQuote } from '../platform/text.ts';
import { parseBaseUrl } from './base-url.ts';
import type { GlobalFlags } from './global-flags.ts';
import { nameProfile, type Profile, type Profiles, profileHint } from './profiles.ts';

/** A value and the setting that it comes from: `--base-url`, `PARTNER_BASE_URL`, `profile "acme"`. */
export interface Sourced<Value> {
  readonly value: Value;
  readonly from: string;
}

/** A token, a file that holds it (`-` for standard input), or a shell command that prints it. */
export interface TokenSource extends Sourced<string> {
  readonly kind: 'text' | 'file' | 'command';
  /** How to provide a valid token there. One sentence. */
  readonly replaceHint: string;
}

export interface ServiceSettings {
  readonly profile: Sourced<string>;
  readonly baseUrl: Sourced<string>;
  readonly token: TokenSource | undefined;
  /** The base URL of the profile, if the token is the profile's and belongs to another service than `baseUrl`. */
  readonly tokenService: string | undefined;
  /** One line for each overridden setting, for -v: `the base URL from --base-url overrides PARTNER_BASE_URL`. */
  readonly shadowed: readonly string[];
}

/** Returns the name of the active profile, whose contract applies. */
export function resolveProfileName(flags: GlobalFlags, env: Environment, profiles: Profiles): Sourced<string> {
  if (flags.profile !== undefined) return { value: flags.profile, from: '--profile' };
  if (env.PARTNER_PROFILE) return { value: env.PARTNER_PROFILE, from: 'PARTNER_PROFILE' };
  return { value: profiles.current, from: 'the current profile' };
}

/** Whether the flags and the environment determine both the service and the token, without a profile. */
export function namesServiceAndToken(flags: GlobalFlags, env: Environment): boolean {
  const namesProfile = flags.profile !== undefined || Boolean(env.PARTNER_PROFILE);
  const namesService = flags.baseUrl !== undefined || Boolean(env.PARTNER_BASE_URL);
  const namesToken = flags.tokenFile !== undefined || Boolean(env.PARTNER_TOKEN);
  return !namesProfile && namesService && namesToken;
}

/** The token in a file, or in standard input for `-`. */
export function tokenFileSource(path: string): TokenSource {
  const from = path === '-' ? 'standard input' : `--token-file ${path}`;
  return { kind: 'file', value: path, from, replaceHint: `Put a valid token into ${path === '-' ? from : path}.` };
}

function variableToken(value: string): TokenSource {
  const replaceHint = 'Set a valid token, or unset it to use that of a profile.';
  return { kind: 'text', value, from: 'PARTNER_TOKEN', replaceHint };
}

function profileToken({ token, token_command: command }: Profile, profile: string): TokenSource | undefined {
  const from = nameProfile(profile);
  const replaceHint = `Store a valid token with: partnerctl login --profile ${shellQuote(profile)}`;
  if (command) return { kind: 'command', value: command, from: `${from}'s token_command`, replaceHint };
  return token ? { kind: 'text', value: token, from, replaceHint } : undefined;
}

function selectProfile({ value: name, from }: Sourced<string>, profiles: Profiles): Profile {
  const profile = profiles.profiles[name];
  if (profile) return profile;
  if (from === 'the current profile') return {};
  throw new UsageError(`There is no ${nameProfile(name)} (from ${from}).`, { hint: profileHint(profiles) });
}

function baseUrls(flags: GlobalFlags, env: Environment, profiles: Profiles): readonly Sourced<string>[] {
  const name = resolveProfileName(flags, env, profiles);
  return [
    { value: flags.baseUrl, from: '--base-url' },
    { value: env.PARTNER_BASE_URL || undefined, from: 'PARTNER_BASE_URL' },
    { value: selectProfile(name, profiles).base_url, from: nameProfile(name.value) },
  ].flatMap(({ value, from }) => (value === undefined ? [] : { value, from }));
}

function describeShadowed(what: string, [used, ...shadowed]: readonly Sourced<string>[]): string[] {
  return shadowed.map(({ from }) => `the ${what} from ${used?.from} overrides ${from}`);
}

/**
 * Returns the base URL that `resolveService` would return.
 * @returns undefined if none is configured
 * @throws UsageError for an unknown profile or an invalid URL
 */
export function resolveBaseUrl(flags: GlobalFlags, env: Environment, profiles: Profiles): string | undefined {
  const [first] = baseUrls(flags, env, profiles);
  return first && parseBaseUrl(first.value, first.from);
}

/**
 * Determines the service and the source of its token. Flags override the environment, which overrides the profile.
 * Pure; `readToken` reads the token.
 * @throws UsageError for an unknown profile or a missing or invalid base URL
 */
export function resolveService(flags: GlobalFlags, env: Environment, profiles: Profiles): ServiceSettings {
  const urls = baseUrls(flags, env, profiles);
  const [first] = urls;
  if (!first) {
    throw new UsageError('No base URL is configured.', {
      hint: 'Give --base-url, set PARTNER_BASE_URL, choose a profile with `partnerctl profile use <name>`, or create one with `partnerctl login`. To try without an account: `partnerctl sandbox run -- <command>`.',
    });
  }
  const baseUrl = { value: parseBaseUrl(first.value, first.from), from: first.from };
  const profile = resolveProfileName(flags, env, profiles);
  const selected = selectProfile(profile, profiles);
  const { base_url: own } = selected;
  // A token may go only to the origin that it is stored for.
  const isForeign = own !== undefined && !(URL.canParse(own) && new URL(own).origin === new URL(baseUrl.value).origin);
  const stored = profileToken(selected, profile.value);
  const tokens = [
    flags.tokenFile ? tokenFileSource(flags.tokenFile) : [],
    env.PARTNER_TOKEN ? variableToken(env.PARTNER_TOKEN) : [],
    stored ?? [],
  ].flat();
  const [token] = tokens;
  return {
    profile,
    baseUrl,
    token,
    tokenService: isForeign && token === stored && stored ? own : undefined,
    shadowed: [...describeShadowed('base URL', urls), ...describeShadowed('token', tokens)],
  };
}
