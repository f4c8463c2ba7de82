import { verifyToken } from '../api/calls.ts';
import { namesServiceAndToken, resolveService } from '../config/settings.ts';
import { CredentialsError } from '../errors.ts';
import type { Context } from './context.ts';

async function verifyConfiguredToken({ http, progress }: Context) {
  try {
    const client = await http();
    progress.start('Verifying the token');
    return await verifyToken(client);
  } catch (error) {
    // Nothing was sent: there is no token, or it is for another service.
    if (error instanceof CredentialsError) return { status: 'none' as const, verified_by: null, error };
    throw error;
  }
}

/**
 * Describes the settings in use, and verifies the token with a read.
 * @returns them, and why the token is not accepted
 * @throws UsageError if no service is configured; errors that are not about the token, such as of the network
 */
export async function identify(context: Context) {
  const { flags, env, config } = context;
  const profiles = await config.read();
  const { profile, baseUrl, token } = resolveService(flags, env, profiles);
  // If both service and token come from elsewhere, no profile is in use.
  const stored = namesServiceAndToken(flags, env) ? undefined : profiles.profiles[profile.value];
  const { status, verified_by, error } = await verifyConfiguredToken(context);
  const identity = {
    profile: stored ? profile.value : null,
    profile_from: stored ? profile.from : null,
    protected: stored?.protected ?? false,
    base_url: baseUrl.value,
    base_url_from: baseUrl.from,
    token_from: token?.from ?? null,
    /** `none` if nothing was sent. */
    token_status: status,
    verified_by,
  };
  return { identity, error };
}
