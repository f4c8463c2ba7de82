import { deferred, defineCommand } from '../cli/command.ts';
import { recordResult } from '../output/command-result.ts';

export const logout = () =>
  defineCommand('logout', 'Remove the token from a profile', {
    description: 'Removes the token from a profile and keeps its base URL. `profile remove` removes both.',
    exits: ['notFound'],
    json: '{profile, forgotten}',
    examples: [
      'partnerctl logout  # remove the token of the current profile',
      'partnerctl logout --profile acme  # remove the token of another profile',
      'partnerctl logout -o json  # for a script: forgotten says whether there was one',
    ],
  }).action(
    deferred(async (context) => {
      const { findProfile, tokenKind } = await import('../config/profiles.ts');
      const { profileName } = await import('../config/settings.ts');
      const { config, env, warn } = context;
      const name = profileName(context).value;
      const forgotten = tokenKind(findProfile(config, name)) !== 'none';
      await config.update(name, ({ token, token_command, ...rest }) => rest);
      if (env.PARTNER_TOKEN) await warn('PARTNER_TOKEN is set. Commands keep using it.');
      return recordResult({ profile: name, forgotten });
    }),
  );
