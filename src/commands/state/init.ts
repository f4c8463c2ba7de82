import { deferred, defineCommand } from '../../cli/command.ts';
import { STATE_EXITS } from '../../errors.ts';
import { recordResult } from '../../output/command-result.ts';

export const init = () =>
  defineCommand('init', 'Prepare a database or a repository for the state', {
    description:
      'Prepares a place for the state: creates the table in a PostgreSQL database, the branch in a git repository, or the file. Does not change one that exists, and fails if it has other content. Shows what to grant to the other users of a database.',
    exits: [...STATE_EXITS, 'notFound'],
    json: '{address, grant}',
    examples: [
      'partnerctl state init postgres://ops@db.example.com/ops  # create the table',
      "partnerctl state init 'git+ssh://git@example.com/ops.git#partnerctl-state'  # create the branch",
      'partnerctl state init  # prepare the configured place',
    ],
  })
    .argument('[address]', 'the place to prepare; the configured one by default')
    .action(
      deferred(async (context, address) => {
        const log = await context.log(address);
        const grant = (await log.prepare()) ?? null;
        await log.read();
        return recordResult({ address: log.label, grant });
      }),
    );
