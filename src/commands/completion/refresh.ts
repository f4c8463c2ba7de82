import { command, SERVICE_EXITS } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import type { Refreshed } from '../../completion/refresh.ts';
import { resolveService } from '../../config/settings.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { type Column, objectResult } from '../../output/command-result.ts';

const COLUMNS: readonly Column<Refreshed>[] = [
  { header: 'PROFILE', value: ({ profile }) => profile },
  { header: 'BASE URL', value: ({ base_url }) => base_url },
  { header: 'SPACES', value: ({ spaces }) => spaces },
  { header: 'AGENTS', value: ({ agents }) => agents },
  { header: 'JOBS', value: ({ jobs }) => jobs },
  { header: 'SOURCES', value: ({ sources }) => sources },
  { header: 'SESSIONS', value: ({ sessions }) => sessions },
];

interface Input {
  readonly space: string | undefined;
  readonly background: boolean;
}

/** Whether the token can be read without running a command or asking. */
async function hasToken({ flags, env, config }: Context): Promise<boolean> {
  return resolveService(flags, env, await config.read()).token?.kind === 'text';
}

export default command<Input>({
  description:
    'Reads the ids and names that completion offers, and stores them for this profile and service: spaces, agents of some spaces, and jobs from the service; sources, sessions, and jobs from the state. Completion does this itself in the background if the token is in PARTNER_TOKEN or in the profile.',
  flags: [
    { usage: '--space <space>', description: 'also read the agents of this space' },
    { usage: '--background', description: 'do nothing if the token comes from a command or a file' },
  ],
  columns: COLUMNS,
  scopes: [SCOPE.readSpaces],
  exits: SERVICE_EXITS,
  examples: [
    { line: 'partnerctl completion refresh', does: 'offer what was just created' },
    { line: 'partnerctl completion refresh --space ext:acme-001', does: 'offer the agents of this space, too' },
  ],
  parse: (args) => ({ space: args.value('space'), background: args.isSet('background') }),
  async run(context, { space, background }) {
    if (background && !(await hasToken(context))) return { kind: 'none' };
    context.progress.start('Reading ids and names');
    const { refreshCache } = await import('../../completion/refresh.ts');
    return objectResult(await refreshCache(context, space), COLUMNS);
  },
});
