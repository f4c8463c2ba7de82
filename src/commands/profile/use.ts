import { command } from '../../cli/command.ts';
import { findProfile } from '../../config/profiles.ts';
import { objectResult } from '../../output/command-result.ts';

export default command({
  description: 'Makes a profile the one that counts where none is named.',
  args: [{ usage: '<name>', description: 'the profile' }],
  examples: [{ line: 'partnerctl profile use acme', does: 'work with acme from now on' }],
  parse: ({ positionals }) => ({ name: positionals[0] ?? '' }),
  async run(context, { name }) {
    const stored = await context.config.read();
    const { base_url } = findProfile(stored, name);
    await context.config.write({ ...stored, current: name });
    if (context.env.PARTNER_PROFILE) await context.warn('PARTNER_PROFILE is set, and goes on winning.');
    return objectResult({ profile: name, base_url: base_url ?? null }, [
      { header: 'PROFILE', value: (answer) => answer.profile },
      { header: 'BASE URL', value: (answer) => answer.base_url },
    ]);
  },
});
