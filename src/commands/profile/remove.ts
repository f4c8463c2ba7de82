import { command } from '../../cli/command.ts';
import { DEFAULT_PROFILE, findProfile, withProfile } from '../../config/profiles.ts';
import { removeToken } from '../../config/token-storage.ts';
import { objectResult } from '../../output/command-result.ts';

export default command({
  description: 'Removes a profile and its token.',
  args: [{ usage: '<name>', description: 'the profile' }],
  output: async () => (await import('../../output-schemas/profiles.ts')).PROFILE_REMOVE,
  exits: ['credentials', 'notFound'],
  examples: [{ line: 'partnerctl profile remove acme', does: 'remove acme and its token' }],
  parse: ({ positionals }) => ({ name: positionals[0] ?? '' }),
  async run(context, { name }) {
    const { config } = context;
    await removeToken(context, name, findProfile(await config.read(), name));
    await config.update((latest) => {
      findProfile(latest, name);
      const rest = withProfile(latest, name, undefined);
      return latest.current === name ? { ...rest, current: DEFAULT_PROFILE } : rest;
    });
    return objectResult({ profile: name, removed: true }, [
      { header: 'PROFILE', value: (result) => result.profile },
      { header: 'REMOVED', value: () => 'yes' },
    ]);
  },
});
