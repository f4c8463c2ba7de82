import { command } from '../../cli/command.ts';
import { findProfile, withProtection } from '../../config/profiles.ts';
import { objectResult } from '../../output/command-result.ts';

export default command({
  description: 'Removes the protection of a profile: writes no longer ask for its name.',
  args: [{ usage: '<name>', description: 'the profile' }],
  exits: ['notFound'],
  examples: [{ line: 'partnerctl profile unprotect acme', does: 'write to acme without being asked' }],
  parse: ({ positionals }) => ({ name: positionals[0] ?? '' }),
  async run({ config }, { name }) {
    await config.update((latest) => withProtection(latest, name, findProfile(latest, name), false));
    return objectResult({ profile: name, protected: false }, [
      { header: 'PROFILE', value: (result) => result.profile },
      { header: 'PROTECTED', value: () => 'no' },
    ]);
  },
});
