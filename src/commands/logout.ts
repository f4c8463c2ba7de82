import { command } from '../cli/command.ts';
import { findProfile, tokenKind, withProfile } from '../config/profiles.ts';
import { resolveProfileName } from '../config/settings.ts';
import { objectResult } from '../output/command-result.ts';

export default command({
  description: 'Removes the token from a profile and keeps its base URL. `profile remove` removes both.',
  exits: ['notFound'],
  examples: [
    { line: 'partnerctl logout', does: 'remove the token of the current profile' },
    { line: 'partnerctl logout --profile acme', does: 'remove the token of another profile' },
  ],
  parse: () => undefined,
  async run(context) {
    const { flags, env, config, warn } = context;
    const stored = await config.read();
    const { value: name } = resolveProfileName(flags, env, stored);
    const forgotten = tokenKind(findProfile(stored, name)) !== 'none';
    await config.update((latest) => {
      const { token, keychain_account, token_command, ...rest } = findProfile(latest, name);
      return withProfile(latest, name, rest);
    });
    if (env.PARTNER_TOKEN) await warn('PARTNER_TOKEN is set. Commands keep using it.');
    return objectResult({ profile: name, forgotten }, [
      { header: 'PROFILE', value: (result) => result.profile },
      { header: 'TOKEN', value: (result) => (result.forgotten ? 'removed' : 'none stored') },
    ]);
  },
});
