import { deferred, defineCommand } from '../../cli/command.ts';
import { recordResult } from '../../output/command-result.ts';

export const show = () =>
  defineCommand('show', 'Show a profile, without its token', {
    exits: ['notFound'],
    json: '{name, base_url, token, token_command, state, current, protected, file}',
    examples: [
      'partnerctl profile show  # show the current profile',
      'partnerctl profile show acme  # show another profile',
      'partnerctl profile show acme -o json --query file  # the path of its file',
    ],
  })
    .argument('[profile]', 'the profile; the current one by default')
    .action(
      deferred(async (context, typedName) => {
        const { findProfile, tokenKind } = await import('../../config/profiles.ts');
        const { profileName } = await import('../../config/settings.ts');
        const { config } = context;
        const name = typedName ?? profileName(context).value;
        const profile = findProfile(config, name);
        return recordResult({
          name,
          base_url: profile.base_url ?? null,
          token: tokenKind(profile),
          token_command: profile.token_command ?? null,
          state: profile.state ?? null,
          current: name === config.current(),
          protected: profile.protected ?? false,
          file: config.pathOf(name),
        });
      }),
    );
