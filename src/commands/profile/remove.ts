import { leaf, run } from '../../cli/leaf.ts';
import { objectResult } from '../../output/command-result.ts';

/** Says which profile commands use now that the current one is removed. */
function describeNewCurrent(removed: string, hasDefault: boolean): string {
  const now = hasDefault ? 'Commands now use profile "default"' : 'Now no profile is current';
  return `${JSON.stringify(removed)} was the current profile. ${now}. To choose another one: partnerctl profile use <name>`;
}

export const remove = () =>
  leaf('remove', 'Remove a profile', {
    description: 'Removes a profile and its token.',
    exits: ['notFound'],
    examples: [['partnerctl profile remove acme', 'remove acme and its token']],
  })
    .argument('<name>', 'the profile')
    .action(
      run(async ({ config, warn }, name) => {
        const { DEFAULT_PROFILE, findProfile, withProfile } = await import('../../config/profiles.ts');
        const stored = await config.read();
        await config.update((latest) => {
          findProfile(latest, name);
          const rest = withProfile(latest, name, undefined);
          return latest.current === name ? { ...rest, current: DEFAULT_PROFILE } : rest;
        });
        const others = Object.keys(stored.profiles).filter((each) => each !== name);
        if (stored.current === name && others.length > 0) {
          await warn(describeNewCurrent(name, others.includes(DEFAULT_PROFILE)));
        }
        return objectResult({ profile: name, removed: true }, [
          { header: 'PROFILE', value: ({ profile }) => profile },
          { header: 'REMOVED', value: () => 'yes' },
        ]);
      }),
    );
