import { deferred, defineCommand } from '../../cli/command.ts';
import { listResult, recordColumns } from '../../output/command-result.ts';

const COLUMNS = recordColumns(['leaf', 'value', 'previous', 'profile', 'base_url']);

export const set = () =>
  defineCommand('set', 'Set a part of the wire format', {
    description:
      'Sets values of the wire format for this profile and service. They override assumed and imported values. See `partnerctl help contract` for the form of each kind of value.',
    exits: ['notFound'],
    json: '[{leaf, value, previous, source, profile, base_url}]',
    examples: [
      'partnerctl contract set cron_jobs.list none  # work without a list of jobs',
      'partnerctl contract set spaces.list.items data.rows  # say where the spaces are in the response',
      'partnerctl contract set message.author.agent bot message.author.user visitor  # say who wrote a message',
    ],
  })
    .argument('<leaf>', 'the name of the value, as `contract show` lists it')
    .argument('<value>', 'the new value')
    .argument('[more...]', 'more leaves, each followed by its value; either all are set, or none')
    .action(
      deferred(async (context, name, value, more) => {
        const { parseSettings, setLeaves } = await import('../../config/contract-file.ts');
        const changed = await setLeaves(context, parseSettings([name, value, ...more]));
        return listResult(changed, COLUMNS);
      }),
    );

export const unset = () =>
  defineCommand('unset', 'Remove a setting: the imported or default value applies again', {
    exits: ['notFound'],
    json: '[{leaf, value, previous, source, profile, base_url}]',
    examples: [
      'partnerctl contract unset cron_jobs.list  # read the list of jobs again',
      'partnerctl contract unset spaces.list.items  # find the spaces where they are by default',
      'partnerctl contract show --source override  # what can be unset',
    ],
  })
    .argument('<leaf>', 'the name of the value')
    .action(
      deferred(async (context, name) => {
        const { findLeaf, setLeaves } = await import('../../config/contract-file.ts');
        const changed = await setLeaves(context, new Map([[findLeaf(name), undefined]]));
        return listResult(changed, COLUMNS);
      }),
    );
