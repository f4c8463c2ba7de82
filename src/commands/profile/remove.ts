import { leaf, run } from '../../cli/leaf.ts';
import { recordResult } from '../../output/command-result.ts';

export const remove = () =>
  leaf('remove', 'Remove a profile', {
    description: 'Removes a profile and its token.',
    exits: ['notFound'],
    examples: ['partnerctl profile remove acme  # remove acme and its token'],
  })
    .argument('<profile>', 'the profile')
    .action(
      run(async ({ config, warn }, name) => {
        const { DEFAULT_PROFILE, findProfile } = await import('../../config/profiles.ts');
        const { current } = await config.read();
        await config.update((latest) => {
          findProfile(latest, name);
          const { [name]: _, ...profiles } = latest.profiles;
          return { current: latest.current === name ? DEFAULT_PROFILE : latest.current, profiles };
        });
        if (current === name && Object.keys((await config.read()).profiles).length > 0) {
          await warn(
            `${JSON.stringify(name)} was the current profile. To choose another one: partnerctl profile use <name>`,
          );
        }
        return recordResult({ profile: name, removed: true });
      }),
    );
