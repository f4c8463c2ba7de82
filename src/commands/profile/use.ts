import { deferred, defineCommand } from '../../cli/command.ts';
import { recordResult } from '../../output/command-result.ts';

export const use = () =>
  defineCommand('use', 'Make a profile the default', {
    exits: ['notFound'],
    json: '{profile, base_url}',
    examples: [
      'partnerctl profile use acme  # use acme from now on',
      'partnerctl profile use acme -o json  # and print its service, for a script',
      'partnerctl spaces list --profile acme  # for one command, with no change of the default',
    ],
  })
    .argument('<profile>', 'the profile')
    .action(
      deferred(async ({ config, env, warn }, name) => {
        const { findProfile } = await import('../../config/profiles.ts');
        const { base_url = null } = findProfile(config, name);
        await config.use(name);
        if (env.PARTNER_PROFILE) {
          await warn(`PARTNER_PROFILE is set to ${env.PARTNER_PROFILE} and overrides this choice.`);
        }
        return recordResult({ profile: name, base_url });
      }),
    );
