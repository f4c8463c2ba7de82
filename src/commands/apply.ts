import { deferred, defineCommand } from '../cli/command.ts';
import { CONFIRM, collect, EXCLUDE, integer, ONLY, ROWS, SUMMARY_FILE, VAR_FILE } from '../cli/options.ts';
import { MAX_CREATES, MAX_FAILURES, PROVISION_SCOPES, RUN_JSON, YES } from './provisioning/args.ts';

export const apply = () =>
  defineCommand('apply', 'Carry out a plan that `plan --out` wrote', {
    description:
      'Carries out exactly the steps of a plan. It reads the spaces of the plan again: one that is not as the plan found it is stale, and nothing is sent for it. What the plan itself has done is no change: an interrupted run is repeated, after `partnerctl cron reconcile` if it was killed. With --limit, it does the first spaces that have something left to do, and says how many remain.',
    scopes: PROVISION_SCOPES,
    exits: ['duplicate', 'unknown', 'partial'],
    json: RUN_JSON,
    examples: [
      'partnerctl apply plan.json  # what was planned, and nothing else',
      'partnerctl apply plan.json customers/  # only if these are still the manifests of the plan',
      'partnerctl apply plan.json --limit 5 --max-failures 1  # the next five spaces; repeated, the five after them',
      'partnerctl apply plan.json -o json  # for a script',
    ],
  })
    .argument('<plan>', 'the file that `plan --out` wrote')
    .argument('[file...]', 'the manifests; the plan must have been made of them')
    .option('--var <NAME=value>', 'a value for ${NAME} in the manifests; repeatable', collect, [])
    .option(...VAR_FILE)
    .option(...ROWS)
    .option(...ONLY)
    .option(...EXCLUDE)
    .option('--limit <n>', 'only the first n spaces that have something left to do', integer(1, 100_000))
    .option('--concurrency <n>', 'how many spaces at a time', integer(1, 64), 4)
    .option(...MAX_FAILURES)
    .option(...MAX_CREATES)
    .option(...YES)
    .option(...SUMMARY_FILE)
    .option(...CONFIRM)
    .action(
      deferred(async (context, path, files, options) => {
        const { readManifests } = await import('../provision/read-manifests.ts');
        const { applyPlanFile } = await import('../provision/workflows.ts');
        const { approver } = await import('./provisioning/approve.ts');
        const { runResult } = await import('./provisioning/result.ts');
        const input = files.length > 0 ? await readManifests(context, files, options) : undefined;
        const how = { ...options, approve: approver(context, options) };
        return runResult(await applyPlanFile(context, path, input, how), context);
      }),
    );
