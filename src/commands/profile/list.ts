import { deferred, defineCommand } from '../../cli/command.ts';
import { listResult } from '../../output/command-result.ts';

export const list = () =>
  defineCommand('list', 'List the profiles', {
    json: '[{name, base_url, token, current, protected}]',
    examples: [
      'partnerctl profile list  # show every profile and its service',
      "partnerctl profile list -o json --query '[?protected].name'  # those that ask before each write",
      "partnerctl profile list -o json --query '[?current].base_url | [0]'  # the service that commands use",
    ],
  }).action(
    deferred(async (context) => {
      const { tokenKind } = await import('../../config/profiles.ts');
      const { profileName } = await import('../../config/settings.ts');
      const { config } = context;
      const current = profileName(context).value;
      const items = config.names().map((name) => {
        const { base_url = null, protected: isProtected = false, ...profile } = config.find(name) ?? {};
        return { name, base_url, token: tokenKind(profile), current: name === current, protected: isProtected };
      });
      return listResult(
        items,
        [
          { header: 'CURRENT', value: (item) => (item.current ? '*' : ''), tone: () => 'good' },
          { header: 'PROFILE', value: ({ name }) => name },
          { header: 'BASE URL', value: ({ base_url }) => base_url },
          { header: 'TOKEN', value: ({ token }) => token },
          { header: 'PROTECTED', value: (item) => (item.protected ? 'protected' : '') },
        ],
        { empty: 'There are no profiles. Create one with `partnerctl login`.' },
      );
    }),
  );
