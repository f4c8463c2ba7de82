import { leaf, run } from '../../cli/leaf.ts';
import { recordResult } from '../../output/command-result.ts';

export const remove = () =>
  leaf('remove', 'Remove a profile and its token', {
    exits: ['notFound'],
    examples: ['partnerctl profile remove acme  # remove acme and its token'],
  })
    .argument('<profile>', 'the profile')
    .action(
      run(async ({ config }, name) => {
        const { DEFAULT_PROFILE, findProfile } = await import('../../config/profiles.ts');
        await config.update((latest) => {
          findProfile(latest, name);
          const { [name]: _, ...profiles } = latest.profiles;
          return { current: latest.current === name ? DEFAULT_PROFILE : latest.current, profiles };
        });
        return recordResult({ profile: name, removed: true });
      }),
    );
