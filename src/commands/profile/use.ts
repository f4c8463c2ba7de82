import { command } from '../../cli/command.ts';
import { findProfile } from '../../config/profiles.ts';
import { objectResult } from '../../output/command-result.ts';

export default command({
  description: 'Makes a profile the current one, which commands use if no other is named.',
  args: [{ usage: '<name>', description: 'the profile' }],
  exits: ['notFound'],
  examples: [{ line: 'partnerctl profile use acme', does: 'use acme from now on' }],
  parse: ({ positionals }) => ({ name: positionals[0] ?? '' }),
  async run({ config, env, warn }, { name }) {
    const stored = await config.read();
    const { base_url = null } = findProfile(stored, name);
    await config.update((latest) => {
      findProfile(latest, name);
      return { ...latest, current: name };
    });
    if (env.PARTNER_PROFILE) await warn(`PARTNER_PROFILE is set to ${env.PARTNER_PROFILE} and overrides this choice.`);
    return objectResult({ profile: name, base_url }, [
      { header: 'PROFILE', value: (result) => result.profile },
      { header: 'BASE URL', value: (result) => result.base_url },
    ]);
  },
});
