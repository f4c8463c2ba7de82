import { command } from '../../cli/command.ts';
import { tokenKind } from '../../config/profiles.ts';
import { resolveProfileName } from '../../config/settings.ts';
import { type Column, listResult } from '../../output/command-result.ts';

interface ProfileRow {
  readonly name: string;
  readonly base_url: string | null;
  readonly token: ReturnType<typeof tokenKind>;
  readonly current: boolean;
  readonly protected: boolean;
}

const COLUMNS: readonly Column<ProfileRow>[] = [
  { header: 'CURRENT', value: ({ current }) => (current ? '*' : ''), tone: () => 'good' },
  { header: 'PROFILE', value: ({ name }) => name },
  { header: 'BASE URL', value: ({ base_url }) => base_url },
  { header: 'TOKEN', value: ({ token }) => token },
  { header: 'PROTECTED', value: (profile) => (profile.protected ? 'protected' : '') },
];

export default command({
  description: 'Lists the profiles and marks the current one.',
  columns: COLUMNS,
  exits: [],
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
      protected: profile.protected ?? false,
    }));
    return listResult(items, COLUMNS, { empty: 'There are no profiles. Create one with `partnerctl login`.' });
  },
});
