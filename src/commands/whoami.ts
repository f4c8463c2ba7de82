import { deferred, defineCommand } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { CredentialsError, SERVICE_EXITS } from '../errors.ts';
import { recordResult } from '../output/command-result.ts';

async function verifyConfiguredToken({ http, progress }: Context) {
  const { verifyToken } = await import('../api/calls.ts');
  try {
    const client = await http();
    progress.start('Verifying the token');
    return await verifyToken(client);
  } catch (error) {
    // Nothing was sent: there is no token, or it is for another service.
    if (error instanceof CredentialsError) return { status: 'none', verified_by: null, error };
    throw error;
  }
}

export const whoami = () =>
  defineCommand('whoami', 'Show the service and the token in use, and whether the service accepts it', {
    description:
      'Shows the service, the profile, and where the token comes from (never the token), and verifies the token with one read: the list of spaces, or of scheduled jobs if the token may not list spaces. The API has no call that tells the organization or the user of a token. Exits with 3 if there is no token or the service rejects it, and with 8 if the service cannot be reached.',
    exits: SERVICE_EXITS,
    json: '{profile, profile_from, protected, base_url, base_url_from, token_from, token_status, verified_by}',
    examples: [
      'partnerctl whoami  # which service and token the other commands use',
      'partnerctl whoami --profile acme  # check the token of a profile',
      'partnerctl whoami -o json --query base_url  # the address of the service, for a script',
    ],
  }).action(
    deferred(async (context) => {
      const { profileInUse, resolveService } = await import('../config/settings.ts');
      const { baseUrl, token } = resolveService(context);
      const profile = profileInUse(context);
      const { status, verified_by, error } = await verifyConfiguredToken(context);
      const identity = {
        profile: profile?.value ?? null,
        profile_from: profile?.from ?? null,
        protected: profile?.stored?.protected ?? false,
        base_url: baseUrl.value,
        base_url_from: baseUrl.from,
        token_from: token?.from ?? null,
        token_status: status,
        verified_by,
      };
      return { ...recordResult(identity), failure: error };
    }),
  );
