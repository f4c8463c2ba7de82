import { command, STATE_EXITS } from '../../cli/command.ts';
import { objectResult } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { refuseOtherContent } from '../../state/copy.ts';

export default command({
  description:
    'Prepares a place for the state: creates the table in a PostgreSQL database, the branch in a git repository, or the file. Does not change one that exists. Shows what to grant to the other users of a database.',
  args: [{ usage: '[address]', description: 'the place to prepare; the configured one by default' }],
  exits: STATE_EXITS,
  examples: [
    { line: 'partnerctl state init postgres://ops@db.example.com/ops', does: 'create the table' },
    {
      line: "partnerctl state init 'git+ssh://git@example.com/ops.git#partnerctl-state'",
      does: 'create the branch',
    },
  ],
  parse: ({ positionals: [address] }) => ({ address }),
  async run(context, { address }) {
    const log = await context.log(address);
    const grant = (await log.prepare()) ?? null;
    await refuseOtherContent(log);
    const lines = [`The state is ready: ${log.label}`, ...(grant === null ? [] : [`For each other user: ${grant}`])];
    return {
      ...objectResult({ address: log.label, grant }, []),
      text: lines.map((line) => `${sanitizeLine(line)}\n`).join(''),
    };
  },
});
