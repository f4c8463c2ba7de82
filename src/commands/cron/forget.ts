import { deferred, defineCommand } from '../../cli/command.ts';
import { SPACE_HELP } from '../../cli/options.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { recordResult } from '../../output/command-result.ts';

export const forget = () =>
  defineCommand('forget', 'Remove a job from the state so that it can be created again', {
    description:
      'Removes a job from the state, so that a job with its agent and name can be created again. Does not remove it from the service: if the list can be read, the next create finds and adopts it.',
    scopes: [OPERATIONS.listSpaces.scope, OPERATIONS.listAgents.scope],
    json: '{status, key, agent_id, name}',
    examples: [
      'partnerctl cron forget cron_2136f0a4 --yes  # forget a job that was removed from the service',
      'partnerctl cron forget --agent agt_1 --name daily --yes  # without a prompt, for a script',
      'partnerctl cron forget 4a51c2d9e0b37f6688a1d2c4 --yes  # by the key that an error or `state show` names',
    ],
  })
    .argument('[cron_job_id|key]', 'the cron_job_id of the job, or its key in the state')
    .option('--agent <agent>', 'in place of the key, with --name: an agent_id, or name:<name> with --space')
    .option('--space <space>', SPACE_HELP)
    .option('--name <name>', 'in place of the key, with --agent: the name of the job')
    .option('--yes', 'confirm in advance')
    .action(
      deferred(async (context, typedKey, { yes = false, ...options }) => {
        const { forgetJob } = await import('../../cron/adopt-forget.ts');
        const { parseNamedJob } = await import('../../cron/job-flags.ts');
        const { key, job } = await forgetJob(context, typedKey, parseNamedJob(options), yes);
        return recordResult({ status: 'forgotten', key, agent_id: job.agent_id, name: job.name });
      }),
    );
