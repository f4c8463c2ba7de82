import { leaf, run } from '../../cli/leaf.ts';
import { objectResult } from '../../output/command-result.ts';

export const protect = () =>
  leaf('protect', 'Ask for the name of a profile before each write', {
    description:
      "Protects a profile: every command that writes to its service asks for the profile's name, or needs --confirm <profile> where it cannot ask. Reads and dry runs never ask.",
    exits: ['notFound'],
    examples: [['partnerctl profile protect acme', 'ask before each write to acme']],
  })
    .argument('<name>', 'the profile')
    .action(
      run(async ({ config }, name) => {
        const { findProfile, withProtection } = await import('../../config/profiles.ts');
        await config.update((latest) => withProtection(latest, name, findProfile(latest, name), true));
        return objectResult({ profile: name, protected: true }, [
          { header: 'PROFILE', value: ({ profile }) => profile },
          { header: 'PROTECTED', value: () => 'yes' },
        ]);
      }),
    );
