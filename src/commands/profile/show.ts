import { command } from '../../cli/command.ts';
import { findProfile, profilesPath, tokenKind } from '../../config/profiles.ts';
import { resolveProfileName } from '../../config/settings.ts';
import { objectResult } from '../../output/command-result.ts';

export default command({
  description: "Shows a profile's service and where its token comes from, never the token itself.",
  args: [{ usage: '[name]', description: 'the profile; the current one by default' }],
  exits: ['notFound'],
  examples: [{ line: 'partnerctl profile show', does: 'show the current profile' }],
  parse: ({ positionals }) => ({ name: positionals[0] }),
  async run({ flags, env, config }, { name: typedName }) {
    const stored = await config.read();
    const name = typedName ?? resolveProfileName(flags, env, stored).value;
    const profile = findProfile(stored, name);
    const data = {
      name,
      base_url: profile.base_url ?? null,
      token: tokenKind(profile),
      token_command: profile.token_command ?? null,
      state: profile.state ?? null,
      state_password_command: profile.state_password_command ?? null,
      current: name === stored.current,
      protected: profile.protected ?? false,
      file: profilesPath(config.directory),
    };
    return objectResult(data, [
      { header: 'PROFILE', value: (result) => result.name },
      { header: 'BASE URL', value: (result) => result.base_url },
      { header: 'TOKEN', value: (result) => result.token },
      { header: 'TOKEN COMMAND', value: (result) => result.token_command },
      { header: 'STATE', value: (result) => result.state },
      { header: 'STATE PASSWORD COMMAND', value: (result) => result.state_password_command },
      { header: 'CURRENT', value: (result) => (result.current ? 'yes' : 'no') },
      { header: 'PROTECTED', value: (result) => (result.protected ? 'yes' : 'no') },
      { header: 'FILE', value: (result) => result.file },
    ]);
  },
});
