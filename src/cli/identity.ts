import type { Http } from '../api/http.ts';
import { type TokenStatus, verifyToken } from '../api/verify-token.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import type { Profiles } from '../config/profiles.ts';
import { namesServiceAndToken, resolveService } from '../config/settings.ts';
import { CredentialsError, type PartnerctlError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';

/** Which service and which token are in use, and where they come from. */
export interface Identity {
  /** Null if no profile is in use. */
  readonly profile: string | null;
  readonly profile_from: string | null;
  readonly protected: boolean;
  readonly base_url: string;
  readonly base_url_from: string;
  /** Null if no token is configured. */
  readonly token_from: string | null;
  readonly token_status: TokenStatus | 'none';
  /** The call that verified the token; null if nothing was sent. */
  readonly verified_by: string | null;
  /** The settings that others override. */
  readonly overridden: readonly string[];
}

/** What finding that out needs of a command. */
export interface IdentityContext {
  readonly env: Environment;
  readonly flags: GlobalFlags;
  readonly progress: { start(text: string): void; stop(): void };
  readonly config: { read(): Promise<Profiles> };
  http(): Promise<Http>;
}

type TokenResult = Pick<Identity, 'token_status' | 'verified_by'> & { readonly error: PartnerctlError | undefined };

/** Verifies the token with a read. @throws errors that are not about the token, such as of the network */
async function verifyConfiguredToken(context: IdentityContext): Promise<TokenResult> {
  try {
    const http = await context.http();
    context.progress.start('Verifying the token');
    const { status, verified_by, error } = await verifyToken(http);
    return { token_status: status, verified_by, error };
  } catch (error) {
    // Nothing was sent: there is no token, or it is for another service.
    if (error instanceof CredentialsError) return { token_status: 'none', verified_by: null, error };
    throw error;
  } finally {
    context.progress.stop();
  }
}

async function describeSettings({ flags, env, config }: IdentityContext) {
  const profiles = await config.read();
  const { profile, baseUrl, token, shadowed } = resolveService(flags, env, profiles);
  const stored = Object.hasOwn(profiles.profiles, profile.value) ? profiles.profiles[profile.value] : undefined;
  // As in `confirmWrite`: if both service and token come from elsewhere, no profile is in use.
  const isInUse = stored !== undefined && !namesServiceAndToken(flags, env);
  return {
    profile: isInUse ? profile.value : null,
    profile_from: isInUse ? profile.from : null,
    protected: isInUse && stored.protected === true,
    base_url: baseUrl.value,
    base_url_from: baseUrl.from,
    token_from: token?.from ?? null,
    overridden: shadowed,
  };
}

/**
 * Describes the settings in use, and verifies the token with a read.
 * @returns them, and why the token is not accepted
 * @throws UsageError if no service is configured; errors that are not about the token, such as of the network
 */
export async function identify(
  context: IdentityContext,
): Promise<{ readonly identity: Identity; readonly error: PartnerctlError | undefined }> {
  const settings = await describeSettings(context);
  const { error, ...token } = await verifyConfiguredToken(context);
  return { identity: { ...settings, ...token }, error };
}
