import { command } from '../../cli/command.ts';
import { DEFAULT_PROFILE, findProfile, withProfile } from '../../config/profiles.ts';
import { objectResult } from '../../output/command-result.ts';

/** Says which profile commands use now that the current one is removed. */
function describeNewCurrent(removed: string, others: readonly string[]): string {
  const now = others.includes(DEFAULT_PROFILE)
    ? `Commands now use profile "${DEFAULT_PROFILE}"`
    : 'Now no profile is current';
  return `${JSON.stringify(removed)} was the current profile. ${now}. To choose another one: partnerctl profile use <name>`;
}

export default command({
  description: 'Removes a profile and its token.',
  args: [{ usage: '<name>', description: 'the profile' }],
  exits: ['notFound'],
  examples: [{ line: 'partnerctl profile remove acme', does: 'remove acme and its token' }],
  parse: ({ positionals }) => ({ name: positionals[0] ?? '' }),
  async run(context, { name }) {
    const { config } = context;
    const stored = await config.read();
    await config.update((latest) => {
      findProfile(latest, name);
      const rest = withProfile(latest, name, undefined);
      return latest.current === name ? { ...rest, current: DEFAULT_PROFILE } : rest;
    });
    const others = Object.keys(stored.profiles).filter((each) => each !== name);
    if (stored.current === name && others.length > 0) await context.warn(describeNewCurrent(name, others));
    return objectResult({ profile: name, removed: true }, [
      { header: 'PROFILE', value: (result) => result.profile },
      { header: 'REMOVED', value: () => 'yes' },
    ]);
  },
});
