import { type TokenStatus, verifyToken } from '../api/verify-token.ts';
import { namesServiceAndToken, resolveService } from '../config/settings.ts';
import { CredentialsError, type PartnerctlError } from '../errors.ts';
import type { Context } from './context.ts';

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

async function verifyConfiguredToken({ http, progress }: Context) {
  try {
    const client = await http();
    progress.start('Verifying the token');
    return await verifyToken(client);
  } catch (error) {
    // Nothing was sent: there is no token, or it is for another service.
    if (error instanceof CredentialsError) return { status: 'none' as const, verified_by: null, error };
    throw error;
  } finally {
    progress.stop();
  }
}

/**
 * Describes the settings in use, and verifies the token with a read.
 * @returns them, and why the token is not accepted
 * @throws UsageError if no service is configured; errors that are not about the token, such as of the network
 */
export async function identify(
  context: Context,
): Promise<{ readonly identity: Identity; readonly error: PartnerctlError | undefined }> {
  const { flags, env, config } = context;
  const profiles = await config.read();
  const { profile, baseUrl, token, shadowed } = resolveService(flags, env, profiles);
  // As in `confirmWrite`: if both service and token come from elsewhere, no profile is in use.
  const stored = namesServiceAndToken(flags, env) ? undefined : profiles.profiles[profile.value];
  const { status, verified_by, error } = await verifyConfiguredToken(context);
  const identity = {
    profile: stored ? profile.value : null,
    profile_from: stored ? profile.from : null,
    protected: stored?.protected ?? false,
    base_url: baseUrl.value,
    base_url_from: baseUrl.from,
    token_from: token?.from ?? null,
    overridden: shadowed,
    token_status: status,
    verified_by,
  };
  return { identity, error };
}
