import { command } from '../cli/command.ts';
import { findProfile, withProfile } from '../config/profiles.ts';
import { resolveProfileName } from '../config/settings.ts';
import { objectResult } from '../output/command-result.ts';

export default command({
  description: 'Forgets the token of a profile. Its address stays; `profile remove` takes it away as well.',
  examples: [
    { line: 'partnerctl logout', does: 'forget the token of the current profile' },
    { line: 'partnerctl logout --profile acme', does: 'of another one' },
  ],
  parse: () => undefined,
  async run(context) {
    const stored = await context.config.read();
    const { value: name } = resolveProfileName(context.flags, context.env, stored);
    const profile = findProfile(stored, name);
    const { token, token_command, ...rest } = profile;
    await context.config.write(withProfile(stored, name, rest));
    if (context.env.PARTNER_TOKEN) await context.warn('PARTNER_TOKEN is set, and goes on counting.');
    const had = token !== undefined || token_command !== undefined;
    return objectResult({ profile: name, forgotten: had }, [
      { header: 'PROFILE', value: (answer) => answer.profile },
      { header: 'TOKEN', value: (answer) => (answer.forgotten ? 'forgotten' : 'there was none') },
    ]);
  },
});
