import { command } from '../../cli/command.ts';
import { findProfile, withProtection } from '../../config/profiles.ts';
import { objectResult } from '../../output/command-result.ts';

export default command({
  description:
    "Protects a profile: every command that writes to its service asks for the profile's name, or needs --confirm <profile> where it cannot ask. Reads and dry runs never ask.",
  args: [{ usage: '<name>', description: 'the profile' }],
  exits: ['notFound'],
  examples: [{ line: 'partnerctl profile protect acme', does: 'ask before each write to acme' }],
  parse: ({ positionals }) => ({ name: positionals[0] ?? '' }),
  async run({ config }, { name }) {
    await config.update((latest) => withProtection(latest, name, findProfile(latest, name), true));
    return objectResult({ profile: name, protected: true }, [
      { header: 'PROFILE', value: (result) => result.profile },
      { header: 'PROTECTED', value: () => 'yes' },
    ]);
  },
});
