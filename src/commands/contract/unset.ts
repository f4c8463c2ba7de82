import { leaf, run } from '../../cli/leaf.ts';
import { objectResult } from '../../output/command-result.ts';

export const unset = () =>
  leaf('unset', 'Remove a setting of the wire format', {
    description:
      'Removes a value that `contract set` has set for this profile and service. The imported or default value applies again.',
    examples: [['partnerctl contract unset cron_jobs.list', 'read the list of jobs again']],
  })
    .argument('<leaf>', 'the name of the value')
    .action(
      run(async (context, name) => {
        const { findLeaf, unsetLeaf } = await import('../../config/contract-settings.ts');
        return objectResult(await unsetLeaf(context, findLeaf(name)), [
          { header: 'LEAF', value: (result) => result.leaf },
          { header: 'VALUE', value: (result) => result.value },
          { header: 'SOURCE', value: (result) => result.source },
          { header: 'PROFILE', value: (result) => result.profile },
          { header: 'BASE URL', value: (result) => result.base_url },
        ]);
      }),
    );
