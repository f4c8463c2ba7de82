import { command } from '../../cli/command.ts';
import { DEFAULT_PROFILE, findProfile, withProfile } from '../../config/profiles.ts';
import { objectResult } from '../../output/command-result.ts';

export default command({
  description: 'Removes a profile with its token.',
  args: [{ usage: '<name>', description: 'the profile' }],
  examples: [{ line: 'partnerctl profile remove acme', does: 'forget acme and its token' }],
  parse: ({ positionals }) => ({ name: positionals[0] ?? '' }),
  async run(context, { name }) {
    const stored = await context.config.read();
    findProfile(stored, name);
    const next = withProfile(stored, name, undefined);
    await context.config.write(stored.current === name ? { ...next, current: DEFAULT_PROFILE } : next);
    return objectResult({ profile: name, removed: true }, [
      { header: 'PROFILE', value: (answer) => answer.profile },
      { header: 'REMOVED', value: () => 'yes' },
    ]);
  },
});
