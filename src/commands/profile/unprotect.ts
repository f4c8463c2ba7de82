import { leaf, run } from '../../cli/leaf.ts';
import { objectResult } from '../../output/command-result.ts';

export const unprotect = () =>
  leaf('unprotect', 'End the protection of a profile', {
    description: 'Removes the protection of a profile: writes no longer ask for its name.',
    exits: ['notFound'],
    examples: [['partnerctl profile unprotect acme', 'write to acme without being asked']],
  })
    .argument('<name>', 'the profile')
    .action(
      run(async ({ config }, name) => {
        const { findProfile, withProtection } = await import('../../config/profiles.ts');
        await config.update((latest) => withProtection(latest, name, findProfile(latest, name), false));
        return objectResult({ profile: name, protected: false }, [
          { header: 'PROFILE', value: ({ profile }) => profile },
          { header: 'PROTECTED', value: () => 'no' },
        ]);
      }),
    );
