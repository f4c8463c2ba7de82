import { leaf, run } from '../../cli/leaf.ts';
import { recordResult } from '../../output/command-result.ts';

export const remove = () =>
  leaf('remove', 'Remove a profile and its token', {
    exits: ['notFound'],
    json: '{profile, removed}',
    examples: ['partnerctl profile remove acme  # remove acme and its token'],
  })
    .argument('<profile>', 'the profile')
    .action(
      run(async ({ config }, name) => {
        const { findProfile } = await import('../../config/profiles.ts');
        findProfile(config, name);
        await config.remove(name);
        return recordResult({ profile: name, removed: true });
      }),
    );
