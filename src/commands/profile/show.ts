import { command } from '../../cli/command.ts';
import { findProfile, profilesPath, tokenKind } from '../../config/profiles.ts';
import { resolveProfileName } from '../../config/settings.ts';
import { objectResult } from '../../output/command-result.ts';

export default command({
  description: 'Shows a profile: its service, and where its token comes from. The token itself is never shown.',
  args: [{ usage: '[name]', description: 'the profile; the current one by default' }],
  examples: [{ line: 'partnerctl profile show', does: 'the profile that counts at the moment' }],
  parse: ({ positionals }) => ({ name: positionals[0] }),
  async run(context, { name: given }) {
    const stored = await context.config.read();
    const chosen =
      given === undefined
        ? resolveProfileName(context.flags, context.env, stored)
        : { value: given, from: 'the command' };
    const profile = findProfile(stored, chosen.value);
    const answer = {
      name: chosen.value,
      base_url: profile.base_url ?? null,
      token: tokenKind(profile),
      token_command: profile.token_command ?? null,
      current: chosen.value === stored.current,
      file: profilesPath(context.config.directory),
    };
    return objectResult(answer, [
      { header: 'PROFILE', value: ({ name }) => name },
      { header: 'BASE URL', value: ({ base_url }) => base_url },
      { header: 'TOKEN', value: ({ token }) => token },
      { header: 'TOKEN COMMAND', value: ({ token_command }) => token_command },
      { header: 'CURRENT', value: ({ current }) => (current ? 'yes' : 'no') },
      { header: 'FILE', value: ({ file }) => file },
    ]);
  },
});
