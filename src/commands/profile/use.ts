import { leaf, run } from '../../cli/leaf.ts';
import { recordResult } from '../../output/command-result.ts';

export const use = () =>
  leaf('use', 'Make a profile the default', {
    exits: ['notFound'],
    json: '{profile, base_url}',
    examples: ['partnerctl profile use acme  # use acme from now on'],
  })
    .argument('<profile>', 'the profile')
    .action(
      run(async ({ config, env, warn }, name) => {
        const { findProfile } = await import('../../config/profiles.ts');
        const { base_url = null } = findProfile(config, name);
        await config.use(name);
        if (env.PARTNER_PROFILE) {
          await warn(`PARTNER_PROFILE is set to ${env.PARTNER_PROFILE} and overrides this choice.`);
        }
        return recordResult({ profile: name, base_url });
      }),
    );
