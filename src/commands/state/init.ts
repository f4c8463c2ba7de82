import { command, STATE_EXITS } from '../../cli/command.ts';
import { objectResult } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';

export default command({
  description:
    'Prepares the place where the state is kept: creates the table of a PostgreSQL database, the branch of a git repository, or a file. One that exists stays as it is. Says what the other users of a database need to be granted.',
  args: [{ usage: '[address]', description: 'the place to prepare; the configured one by default' }],
  output: async () => (await import('../../output-schemas/state.ts')).STATE_INIT,
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
    const store = await context.stateStore(address);
    const grant = (await store.init()) ?? null;
    const lines = [`The state is ready: ${store.label}`, ...(grant === null ? [] : [`For each other user: ${grant}`])];
    return {
      ...objectResult({ address: store.label, grant }, []),
      text: lines.map((line) => `${sanitizeLine(line)}\n`).join(''),
    };
  },
});
