import { LocalError, UsageError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import { shellQuote } from '../platform/text.ts';
import { parseBaseUrl } from './base-url.ts';
import { DEFAULT_PROFILE, findProfile, nameProfile, type Profile, type Profiles } from './profiles.ts';
import type { ServiceFlags } from './service-flags.ts';

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

/** What settings are found in: the flags, then the environment, then the profiles. */
export interface SettingsContext {
  readonly flags: ServiceFlags;
  readonly env: Environment;
  readonly config: Profiles;
}

/** The name of the profile that applies, and what is stored under it: only the current one may not exist. */
export interface ActiveProfile extends Sourced<string> {
  readonly stored: Profile | undefined;
}

export interface ServiceSettings {
  /** Its contract and its state apply even if nothing else of it is in use. */
  readonly profile: ActiveProfile;
  readonly baseUrl: Sourced<string>;
  readonly token: TokenSource | undefined;
  /** The base URL of the profile, if the token is the profile's and belongs to another service than `baseUrl`. */
  readonly tokenService: string | undefined;
}

/** Where the name of a profile comes from if no setting has one. */
export const CURRENT = 'the current profile';

/** Returns the name of the profile that applies, which need not exist. */
export function profileName({ flags, env, config }: SettingsContext): Sourced<string> {
  if (flags.profile !== undefined) return { value: flags.profile, from: '--profile' };
  if (env.PARTNER_PROFILE) return { value: env.PARTNER_PROFILE, from: 'PARTNER_PROFILE' };
  return { value: config.current(), from: CURRENT };
}

/** Returns the profile that applies. @throws NotFoundError if a setting names one that does not exist */
export function activeProfile(context: SettingsContext): ActiveProfile {
  const { config } = context;
  const { value, from } = profileName(context);
  return { value, from, stored: from === CURRENT ? config.find(value) : findProfile(config, value, from) };
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

/** Whether flags and environment name both the service and the token, and no profile. */
function needsNoProfile(context: SettingsContext): boolean {
  const { flags, env } = context;
  const namesProfile = flags.profile !== undefined || Boolean(env.PARTNER_PROFILE);
  const namesService = flags.baseUrl !== undefined || Boolean(env.PARTNER_BASE_URL);
  return !namesProfile && namesService && givenToken(context) !== undefined;
}

/** Returns the profile that the service or the token comes from, and whose protection counts. @throws as `activeProfile` */
export function profileInUse(context: SettingsContext): ActiveProfile | undefined {
  const profile = needsNoProfile(context) ? undefined : activeProfile(context);
  return profile?.stored && profile;
}

/**
 * Determines the base URL; undefined if none is configured. Requires no token.
 * @param profile by default the one that applies
 * @throws UsageError for a bad URL; as `activeProfile`
 */
export function resolveBaseUrl(
  context: SettingsContext,
  { value: name, stored }: Omit<ActiveProfile, 'from'> = activeProfile(context),
): Sourced<string> | undefined {
  const { flags, env } = context;
  const valid = (value: string, from: string) => ({ value: parseBaseUrl(value, from), from });
  if (flags.baseUrl !== undefined) return valid(flags.baseUrl, '--base-url');
  if (env.PARTNER_BASE_URL) return valid(env.PARTNER_BASE_URL, 'PARTNER_BASE_URL');
  return stored?.base_url === undefined ? undefined : valid(stored.base_url, nameProfile(name));
}

function givenToken({ flags: { tokenFile }, env: { PARTNER_TOKEN: token } }: SettingsContext): TokenSource | undefined {
  if (tokenFile !== undefined) return tokenFileSource(tokenFile);
  const replaceHint = 'Set a valid token, or unset it to use that of a profile.';
  return token ? { kind: 'text', value: token, from: 'PARTNER_TOKEN', replaceHint } : undefined;
}

/**
 * Determines the service and the source of its token, for every command. Flags override the environment, which overrides
 * the profile. `readToken` reads the token.
 * @throws NotFoundError for an unknown profile, UsageError for a missing or invalid base URL
 */
export function resolveService(context: SettingsContext): ServiceSettings {
  const profile = tolerantProfile(context);
  const { stored } = profile;
  const baseUrl = resolveBaseUrl(context, profile);
  if (!baseUrl) {
    throw new UsageError('No base URL is configured.', {
      hint: 'Give --base-url, set PARTNER_BASE_URL, choose a profile with `partnerctl profile use <name>`, or create one with `partnerctl login`. To try without an account: `partnerctl sandbox run -- <command>`.',
    });
  }
  const given = givenToken(context);
  if (given || !stored) return { profile, baseUrl, token: given, tokenService: undefined };
  const { base_url: own } = stored;
  // A token may go only to the origin that it is stored for.
  const isForeign = own !== undefined && !(URL.canParse(own) && new URL(own).origin === new URL(baseUrl.value).origin);
  const token = profileToken(stored, profile.value);
  return { profile, baseUrl, token, tokenService: token && isForeign ? own : undefined };
}

/** As `activeProfile`. In a container, another user may own the home directory: who needs no profile goes on without. */
function tolerantProfile(context: SettingsContext): ActiveProfile {
  try {
    return activeProfile(context);
  } catch (error) {
    if (!(error instanceof LocalError && needsNoProfile(context))) throw error;
    return { value: DEFAULT_PROFILE, from: CURRENT, stored: undefined };
  }
}
