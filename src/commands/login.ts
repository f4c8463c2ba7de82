import { deferred, defineCommand, fieldsOf } from '../cli/command.ts';
import { CONFIRM } from '../cli/options.ts';
import { SERVICE_EXITS } from '../errors.ts';
import { recordResult } from '../output/command-result.ts';
import type { storeToken } from './login/shared/store-token.ts';

export const login = () =>
  defineCommand('login', 'Store a service and its token in a profile', {
    description:
      "Stores a service's base URL and a token in a profile, after verifying them with one call. The token comes from PARTNER_TOKEN if that is set, else from a prompt or standard input; or from a file, or a command. With --state, the profile also stores where the state is. Without --profile, never replaces the current profile with another service.",
    exits: SERVICE_EXITS,
    json: fieldsOf<Awaited<ReturnType<typeof storeToken>>>()(
      'profile, base_url, token, verified, verified_by, current',
    ),
    examples: [
      'partnerctl login --base-url https://api.example.com/v1  # ask for the token',
      'partnerctl login --profile acme --base-url https://api.example.com/v1 --token-file - < token.txt  # create a profile with a token from a file',
      "partnerctl login --base-url https://api.example.com/v1 --token-command 'pass show partner'  # keep the token in a password manager",
    ],
  })
    .option('--token-command <command>', 'store this command instead of a token; its first line of output is the token')
    .option(...CONFIRM)
    .option('--no-verify', 'store without calling the service')
    .action(
      deferred(async (context, options) => {
        const { storeToken } = await import('./login/shared/store-token.ts');
        return recordResult(await storeToken(context, options));
      }),
    );
