import { UsageError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import { parseBaseUrl } from './base-url.ts';
import type { GlobalFlags } from './global-flags.ts';
import { DEFAULT_PROFILE, type Profile, type Profiles } from './profiles.ts';
import { findTokenSources, isSameService, nameProfile, type TokenSource } from './token-sources.ts';

/** A value and the setting that it comes from: `--base-url`, `PARTNER_BASE_URL`, `profile "acme"`. */
export interface Sourced<Value> {
  readonly value: Value;
  readonly from: string;
}

export interface ServiceSettings {
  readonly profile: Sourced<string>;
  readonly baseUrl: Sourced<string>;
  readonly token: TokenSource | undefined;
  /** One line for each overridden setting, for -v: `the base URL from --base-url overrides PARTNER_BASE_URL`. */
  readonly shadowed: readonly string[];
  /** The variables that override a different value of the profile, if --profile or PARTNER_PROFILE chose it. */
  readonly overridingVariables: readonly ('PARTNER_BASE_URL' | 'PARTNER_TOKEN')[];
}

/** Returns the name of the active profile. */
export function resolveProfileName(flags: GlobalFlags, env: Environment, profiles: Profiles): Sourced<string> {
  if (flags.profile !== undefined) return { value: flags.profile, from: '--profile' };
  if (env.PARTNER_PROFILE) return { value: env.PARTNER_PROFILE, from: 'PARTNER_PROFILE' };
  return { value: profiles.current, from: 'the current profile' };
}

/**
 * Returns the profile whose contract applies: for a service that a flag or the environment names without a profile, the
 * default profile, whichever profile is current.
 */
export function contractProfile(flags: GlobalFlags, env: Environment, profiles: Profiles): string {
  const { value, from } = resolveProfileName(flags, env, profiles);
  const namesService = flags.baseUrl !== undefined || Boolean(env.PARTNER_BASE_URL);
  return from === 'the current profile' && namesService ? DEFAULT_PROFILE : value;
}

function selectProfile(name: Sourced<string>, profiles: Profiles): Profile {
  const profile = Object.hasOwn(profiles.profiles, name.value) ? profiles.profiles[name.value] : undefined;
  if (profile) return profile;
  if (name.from === 'the current profile') return {};
  const names = Object.keys(profiles.profiles);
  throw new UsageError(`There is no profile ${JSON.stringify(name.value)} (from ${name.from}).`, {
    hint:
      names.length > 0
        ? `Use one of: ${names.join(', ')}.`
        : `Create it with \`partnerctl login --profile ${name.value}\`.`,
  });
}

function baseUrlCandidates(flags: GlobalFlags, env: Environment, profile: Profile, name: string): Sourced<string>[] {
  return [
    { value: flags.baseUrl, from: '--base-url' },
    { value: env.PARTNER_BASE_URL || undefined, from: 'PARTNER_BASE_URL' },
    { value: profile.base_url, from: nameProfile(name) },
  ].flatMap(({ value, from }) => (value === undefined ? [] : [{ value, from }]));
}

function describeShadowed(what: string, candidates: readonly { readonly from: string }[]): string[] {
  const [used, ...shadowed] = candidates;
  return used ? shadowed.map(({ from }) => `the ${what} from ${used.from} overrides ${from}`) : [];
}

/** Returns the variables among `used` that override a different value of a profile that was chosen by name. */
function findOverridingVariables(
  name: Sourced<string>,
  { base_url: baseUrl, token }: Profile,
  used: { readonly baseUrl: Sourced<string>; readonly tokens: readonly TokenSource[] },
): ServiceSettings['overridingVariables'] {
  if (name.from === 'the current profile') return [];
  const [first, ...others] = used.tokens;
  const overridesUrl =
    used.baseUrl.from === 'PARTNER_BASE_URL' && (baseUrl ?? used.baseUrl.value) !== used.baseUrl.value;
  const isSameToken = first?.kind === 'text' && first.token === token;
  const overridesToken = first?.from === 'PARTNER_TOKEN' && others.length > 0 && !isSameToken;
  return [
    ...(overridesUrl ? ['PARTNER_BASE_URL' as const] : []),
    ...(overridesToken ? ['PARTNER_TOKEN' as const] : []),
  ];
}

/** Whether the flags and the environment determine both the service and the token, without a profile. */
export function namesServiceAndToken(flags: GlobalFlags, env: Environment): boolean {
  const namesProfile = flags.profile !== undefined || Boolean(env.PARTNER_PROFILE);
  const namesService = flags.baseUrl !== undefined || Boolean(env.PARTNER_BASE_URL);
  const namesToken = flags.tokenFile !== undefined || Boolean(env.PARTNER_TOKEN);
  return !namesProfile && namesService && namesToken;
}

/**
 * Returns the base URL that `resolveService` would return.
 * @returns undefined if none is configured
 * @throws UsageError for an unknown profile or an invalid URL
 */
export function resolveBaseUrl(flags: GlobalFlags, env: Environment, profiles: Profiles): string | undefined {
  const profile = resolveProfileName(flags, env, profiles);
  const [first] = baseUrlCandidates(flags, env, selectProfile(profile, profiles), profile.value);
  return first && parseBaseUrl(first.value, first.from);
}

/** Like `resolveBaseUrl`, but throws UsageError if none is configured. */
export function requireBaseUrl(flags: GlobalFlags, env: Environment, profiles: Profiles): string {
  const baseUrl = resolveBaseUrl(flags, env, profiles);
  if (baseUrl === undefined) throw noBaseUrl(profiles);
  return baseUrl;
}

function noBaseUrl({ current, profiles }: Profiles): UsageError {
  const names = Object.keys(profiles);
  const hint =
    names.length > 0 && !names.includes(current)
      ? `Choose a profile (${names.join(', ')}) with \`partnerctl profile use <name>\`, give --base-url, or set PARTNER_BASE_URL.`
      : 'Give --base-url, set PARTNER_BASE_URL, or run `partnerctl login`. To try without an account: `partnerctl sandbox run -- <command>`.';
  return new UsageError('No base URL is configured.', { hint });
}

/**
 * Determines the service and the source of its token. Flags override the environment, which overrides the profile.
 * Pure; `readToken` reads the token.
 * @throws UsageError for an unknown profile or a missing or invalid base URL
 */
export function resolveService(flags: GlobalFlags, env: Environment, profiles: Profiles): ServiceSettings {
  const profile = resolveProfileName(flags, env, profiles);
  const stored = selectProfile(profile, profiles);
  const baseUrls = baseUrlCandidates(flags, env, stored, profile.value);
  const [first] = baseUrls;
  if (!first) throw noBaseUrl(profiles);
  const baseUrl = { value: parseBaseUrl(first.value, first.from), from: first.from };
  const context = { profile: stored, name: profile.value, baseUrl: baseUrl.value };
  const tokens = findTokenSources(flags, env.PARTNER_TOKEN, context);
  return {
    profile,
    baseUrl,
    token: tokens[0],
    overridingVariables: findOverridingVariables(profile, stored, { baseUrl, tokens }),
    shadowed: [...describeShadowed('base URL', baseUrls), ...describeShadowed('token', tokens)],
  };
}

/**
 * Detects that a profile's token would be sent to a service other than the profile's own.
 * @returns the profile's own base URL in that case, otherwise undefined
 */
export function crossServiceToken(settings: ServiceSettings, profiles: Profiles): string | undefined {
  const { profile, baseUrl, token } = settings;
  const own = profiles.profiles[profile.value]?.base_url;
  if (token?.profile === undefined || own === undefined || !URL.canParse(own)) return undefined;
  return isSameService(own, baseUrl.value) ? undefined : own;
}
