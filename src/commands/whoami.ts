import { leaf, run, SERVICE_EXITS } from '../cli/leaf.ts';
import { recordResult } from '../output/command-result.ts';

export const whoami = () =>
  leaf('whoami', 'Show the service and the token in use, and whether the service accepts it', {
    description:
      'Shows the service, the profile, and where the token comes from (never the token), and verifies the token with one read: the list of spaces, or of scheduled jobs if the token may not list spaces. The API has no call that tells the organization or the user of a token. Exits with 3 if there is no token or the service rejects it, and with 8 if the service cannot be reached.',
    exits: SERVICE_EXITS,
    examples: [
      'partnerctl whoami  # which service and token the other commands use',
      'partnerctl whoami --profile acme -q  # check the token of a profile',
      'partnerctl whoami -o json --query base_url  # the address of the service, for a script',
    ],
  }).action(
    run(async (context) => {
      const { identify } = await import('../cli/identity.ts');
      const { identity, error } = await identify(context);
      return { ...recordResult(identity), failure: error };
    }),
  );
