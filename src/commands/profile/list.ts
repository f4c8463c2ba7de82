import { command } from '../../cli/command.ts';
import { tokenKind } from '../../config/profiles.ts';
import { resolveProfileName } from '../../config/settings.ts';
import { listResult } from '../../output/command-result.ts';

export default command({
  description: 'Lists the profiles. The current one is marked.',
  examples: [{ line: 'partnerctl profile list', does: 'every profile and its service' }],
  parse: () => undefined,
  async run(context) {
    const stored = await context.config.read();
    const current = resolveProfileName(context.flags, context.env, stored).value;
    const items = Object.entries(stored.profiles).map(([name, profile]) => ({
      name,
      base_url: profile.base_url ?? null,
      token: tokenKind(profile),
      current: name === current,
    }));
    return listResult(
      items,
      [
        { header: '', value: (item) => (item.current ? '*' : ''), tone: () => 'good' },
        { header: 'PROFILE', value: (item) => item.name },
        { header: 'BASE URL', value: (item) => item.base_url },
        { header: 'TOKEN', value: (item) => item.token },
      ],
      { empty: 'There are no profiles; `partnerctl login` makes one.' },
    );
  },
});
