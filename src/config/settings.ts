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
}

/** Returns the name of the active profile, whose contract applies. */
export function resolveProfileName(flags: GlobalFlags, env: Environment, profiles: Profiles): Sourced<string> {
  if (flags.profile !== undefined) return { value: flags.profile, from: '--profile' };
  if (env.PARTNER_PROFILE) return { value: env.PARTNER_PROFILE, from: 'PARTNER_PROFILE' };
  return { value: profiles.current(), from: 'the current profile' };
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

function profileToken({ token, token_command: command }: Profile, profile: string): TokenSource | undefined {
  const from = nameProfile(profile);
  const replaceHint = `Store a valid token with: partnerctl login --profile ${shellQuote(profile)}`;
  if (command) return { kind: 'command', value: command, from: `${from}'s token_command`, replaceHint };
  return token ? { kind: 'text', value: token, from, replaceHint } : undefined;
}

function selectProfile({ value: name, from }: Sourced<string>, profiles: Profiles): Profile {
  const profile = profiles.find(name);
  if (profile) return profile;
  if (from === 'the current profile') return {};
  throw new UsageError(`There is no ${nameProfile(name)} (from ${from}).`, { hint: profileHint(profiles) });
}

/** Determines the base URL; undefined if none is configured. @throws UsageError for an unknown profile or a bad URL */
export function resolveBaseUrl(flags: GlobalFlags, env: Environment, profiles: Profiles): Sourced<string> | undefined {
  const profile = resolveProfileName(flags, env, profiles);
  const { base_url: stored } = selectProfile(profile, profiles);
  const valid = (value: string, from: string) => ({ value: parseBaseUrl(value, from), from });
  if (flags.baseUrl !== undefined) return valid(flags.baseUrl, '--base-url');
  if (env.PARTNER_BASE_URL) return valid(env.PARTNER_BASE_URL, 'PARTNER_BASE_URL');
  return stored === undefined ? undefined : valid(stored, nameProfile(profile.value));
}

function givenToken({ tokenFile }: GlobalFlags, { PARTNER_TOKEN: token }: Environment): TokenSource | undefined {
  if (tokenFile !== undefined) return tokenFileSource(tokenFile);
  const replaceHint = 'Set a valid token, or unset it to use that of a profile.';
  return token ? { kind: 'text', value: token, from: 'PARTNER_TOKEN', replaceHint } : undefined;
}

/**
 * Determines the service and the source of its token. Flags override the environment, which overrides the profile.
 * `readToken` reads the token.
 * @throws UsageError for an unknown profile or a missing or invalid base URL
 */
export function resolveService(flags: GlobalFlags, env: Environment, profiles: Profiles): ServiceSettings {
  const baseUrl = resolveBaseUrl(flags, env, profiles);
  if (!baseUrl) {
    throw new UsageError('No base URL is configured.', {
      hint: 'Give --base-url, set PARTNER_BASE_URL, choose a profile with `partnerctl profile use <name>`, or create one with `partnerctl login`. To try without an account: `partnerctl sandbox run -- <command>`.',
    });
  }
  const profile = resolveProfileName(flags, env, profiles);
  const selected = selectProfile(profile, profiles);
  const given = givenToken(flags, env);
  if (given) return { profile, baseUrl, token: given, tokenService: undefined };
  const { base_url: own } = selected;
  // A token may go only to the origin that it is stored for.
  const isForeign = own !== undefined && !(URL.canParse(own) && new URL(own).origin === new URL(baseUrl.value).origin);
  const token = profileToken(selected, profile.value);
  return { profile, baseUrl, token, tokenService: token && isForeign ? own : undefined };
}
