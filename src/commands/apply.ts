import { leaf, run } from '../cli/leaf.ts';
import { CONFIRM, collect, integer, SUMMARY_FILE } from '../cli/options.ts';
import { PROVISION_SCOPES } from './provisioning/args.ts';

export const apply = () =>
  leaf('apply', 'Carry out a plan that `plan --out` wrote', {
    description:
      'Carries out exactly the steps of a plan. It reads the spaces of the plan again: one that is not as the plan found it is stale, and nothing is sent for it. What the plan itself has done is no change: an interrupted run is repeated, after `partnerctl cron reconcile` if it was killed.',
    scopes: PROVISION_SCOPES,
    exits: ['duplicate', 'unknown', 'partial'],
    examples: [
      'partnerctl apply plan.json  # what was planned, and nothing else',
      'partnerctl apply plan.json customers/  # only if these are still the manifests of the plan',
      'partnerctl apply plan.json -o json  # for a script',
    ],
  })
    .argument('<plan>', 'the file that `plan --out` wrote')
    .argument('[file...]', 'the manifests; the plan must have been made of them')
    .option('--var <NAME=value>', 'a value for ${NAME} in the manifests; repeatable', collect, [])
    .option('--concurrency <n>', 'how many spaces at a time', integer(1, 64), 4)
    .option('--fail-fast', 'do not start further spaces after a failure')
    .option(...SUMMARY_FILE)
    .option(...CONFIRM)
    .action(
      run(async (context, path, files, options) => {
        const { readManifests } = await import('../provision/read-manifests.ts');
        const { applyPlanFile } = await import('../provision/workflows.ts');
        const { runResult } = await import('./provisioning/result.ts');
        await context.confirmWrite(options.confirm);
        const input = files.length > 0 ? await readManifests(context, files, options) : undefined;
        return runResult(await applyPlanFile(context, path, input, options), context);
      }),
    );
