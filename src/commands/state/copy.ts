import { command, STATE_EXITS } from '../../cli/command.ts';
import { objectResult } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';

export default command({
  description:
    "Copies all records from one place to another, in order: for example, to move a team's state from a file to a database. Skips records that are already there, and removes nothing.",
  args: [
    { usage: '<from>', description: 'a file, or the address of a database or a repository' },
    { usage: '<to>', description: 'the place to copy to; `partnerctl state init` prepares it' },
  ],
  exits: [...STATE_EXITS, 'notFound'],
  examples: [
    { line: 'partnerctl state copy state.jsonl postgres://ops@db.example.com/ops', does: 'move a file to a database' },
    { line: 'partnerctl state copy postgres://ops@db.example.com/ops backup.jsonl', does: 'keep a copy' },
  ],
  parse: ({ positionals: [from = '', to = ''] }) => ({ from, to }),
  async run(context, addresses) {
    const { copyRecords } = await import('../../state/copy.ts');
    const from = await context.log(addresses.from);
    const to = await context.log(addresses.to);
    const { copied, present } = await copyRecords(from, to);
    const text = `${copied} ${copied === 1 ? 'record' : 'records'} copied, ${present} already there: ${to.label}`;
    return {
      ...objectResult({ from: from.label, to: to.label, copied, present }, []),
      text: `${sanitizeLine(text)}\n`,
    };
  },
});
