import { deferred, defineCommand } from '../../cli/command.ts';
import { recordResult } from '../../output/command-result.ts';

export const remove = () =>
  defineCommand('remove', 'Remove a profile and its token', {
    exits: ['notFound'],
    json: '{profile, removed}',
    examples: [
      'partnerctl logout --profile acme  # remove only the token',
      'partnerctl profile remove acme  # remove acme and its token',
      "partnerctl profile list -o json --query '[].name'  # the profiles that are left",
    ],
  })
    .argument('<profile>', 'the profile')
    .action(
      deferred(async ({ config }, name) => {
        const { findProfile } = await import('../../config/profiles.ts');
        findProfile(config, name);
        await config.remove(name);
        return recordResult({ profile: name, removed: true });
      }),
    );
