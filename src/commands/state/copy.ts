import { deferred, defineCommand } from '../../cli/command.ts';
import { STATE_EXITS } from '../../errors.ts';
import { recordResult } from '../../output/command-result.ts';

export const copy = () =>
  defineCommand('copy', 'Copy the records of one place to another', {
    description: 'Copies the records in order, skips those that are already there, and removes nothing.',
    exits: [...STATE_EXITS, 'notFound'],
    json: '{from, to, copied, present}',
    examples: [
      'partnerctl state copy state.jsonl postgres://ops@db.example.com/ops  # move a file to a database',
      'partnerctl state copy postgres://ops@db.example.com/ops backup.jsonl  # keep a copy',
      "partnerctl state copy state.jsonl 'git+ssh://git@example.com/ops.git#partnerctl-state'  # move a file to a branch",
    ],
  })
    .argument('<from>', 'a file, or the address of a database or a repository')
    .argument('<to>', 'the place to copy to; `partnerctl state init` prepares it')
    .action(
      deferred(async (context, source, target) => {
        const from = await context.log(source);
        const to = await context.log(target);
        return recordResult({ from: from.label, to: to.label, ...(await to.copyFrom(from)) });
      }),
    );
