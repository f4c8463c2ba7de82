import { shellQuote } from '../platform/shell-quote.ts';
import type { GlobalFlags } from './global-flags.ts';
import type { Profile } from './profiles.ts';

/** Where a token comes from, and how to provide a valid one there. */
interface TokenPlace {
  /** `PARTNER_TOKEN`, `--token-file token.txt`, `standard input`, `profile "acme"`, `profile "acme"'s token_command`. */
  readonly from: string;
  /** One sentence. */
  readonly fixHint: string;
  /** The profile that the token belongs to; undefined for one from a flag or the environment. */
  readonly profile?: string | undefined;
}

export type TokenSource = TokenPlace &
  (
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'text'; readonly token: string }
    | { readonly kind: 'command'; readonly command: string }
    /** Earlier versions kept tokens in the keychain of the operating system. */
    | { readonly kind: 'keychain' }
  );

/** The active profile, and the service that a token is for. */
export interface TokenContext {
  readonly profile: Profile;
  readonly name: string;
  readonly baseUrl: string;
}

/** Returns how messages name a profile: `profile "acme"`. */
export function nameProfile(name: string): string {
  return `profile ${JSON.stringify(name)}`;
}

/** Returns how messages name a token file. @param path `-` for standard input */
export function nameTokenFile(path: string): string {
  return path === '-' ? 'standard input' : `--token-file ${path}`;
}

/** Returns how to provide a valid token in a token file, without a period. @param path `-` for standard input */
export function fixTokenFile(path: string): string {
  return path === '-' ? 'Pipe a valid one to standard input' : `Put a valid one into ${path}`;
}

/** Whether two base URLs have the same origin, so that the token for one may go to the other. */
export function isSameService(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).origin === new URL(other).origin;
}

function profileSource({ profile, name, baseUrl }: TokenContext): TokenSource | undefined {
  const { base_url: own, token, keychain_account: account, token_command: command } = profile;
  const isForeign = own !== undefined && !isSameService(own, baseUrl);
  const foreign = `It is for ${own}. Set PARTNER_TOKEN to a token for ${baseUrl}.`;
  const service = own === undefined ? ['--base-url', baseUrl] : [];
  const login = ['partnerctl', 'login', '--profile', name, ...service].map(shellQuote).join(' ');
  if (command) {
    const fixHint = isForeign ? foreign : `Make it print a valid one (${command}), or store a token with: ${login}`;
    return { kind: 'command', command, from: `${nameProfile(name)}'s token_command`, fixHint, profile: name };
  }
  const fixHint = isForeign ? foreign : `Store a valid one with: ${login}`;
  if (account) return { kind: 'keychain', from: nameProfile(name), fixHint: `Run: ${login}`, profile: name };
  if (!token) return undefined;
  return { kind: 'text', token, from: nameProfile(name), fixHint, profile: name };
}

/**
 * Returns the sources that have a token, the one in use first. If the next source works for the same service, the hint of a
 * source mentions it.
 */
export function findTokenSources(
  { tokenFile }: Pick<GlobalFlags, 'tokenFile'>,
  fromEnvironment: string | undefined,
  context: TokenContext,
): readonly TokenSource[] {
  const stored = profileSource(context);
  const own = context.profile.base_url;
  const isUsable = own === undefined || isSameService(own, context.baseUrl);
  const storedName = stored && isUsable ? nameProfile(context.name) : undefined;
  const sources: TokenSource[] = [];
  if (tokenFile !== undefined) {
    const next = fromEnvironment ? 'PARTNER_TOKEN' : storedName;
    const alternative = next === undefined ? '' : `, or omit --token-file to use ${next}`;
    const fixHint = `${fixTokenFile(tokenFile)}${alternative}.`;
    sources.push({ kind: 'file', path: tokenFile, from: nameTokenFile(tokenFile), fixHint });
  }
  if (fromEnvironment) {
    const fixHint =
      storedName === undefined ? 'Set a valid one.' : `Set a valid one, or unset it to use ${storedName}.`;
    sources.push({ kind: 'text', token: fromEnvironment, from: 'PARTNER_TOKEN', fixHint });
  }
  return stored ? [...sources, stored] : sources;
}
