import { command } from '../../cli/command.ts';
import { tokenKind } from '../../config/profiles.ts';
import { resolveProfileName } from '../../config/settings.ts';
import { listResult } from '../../output/command-result.ts';

export default command({
  description: 'Lists the profiles and marks the current one.',
  examples: [{ line: 'partnerctl profile list', does: 'show every profile and its service' }],
  parse: () => undefined,
  async run({ flags, env, config }) {
    const stored = await config.read();
    const current = resolveProfileName(flags, env, stored).value;
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
      { empty: 'There are no profiles. Create one with `partnerctl login`.' },
    );
  },
});
