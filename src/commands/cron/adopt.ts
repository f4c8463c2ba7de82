import { deferred, defineCommand } from '../../cli/command.ts';
import { SPACE_HELP } from '../../cli/options.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { recordResult } from '../../output/command-result.ts';

export const adopt = () =>
  defineCommand('adopt', 'Record an existing job in the state', {
    description:
      'Records a job of the service in the state, so that it is not created again: as the job with this agent and name, or, by its id alone, with those that the service lists. Does not change the service.',
    scopes: [OPERATIONS.listCronJobs.scope, OPERATIONS.listSpaces.scope, OPERATIONS.listAgents.scope],
    json: '{cron_job_id, status, agent_id, name, key, schedule}',
    examples: [
      'partnerctl cron adopt cron_1 --yes  # a job that the service lists, without a prompt',
      'partnerctl cron adopt cron_1 --agent agt_1 --name daily --yes  # a job whose outcome is unknown, or which the service does not list',
      'partnerctl cron adopt cron_2 --agent name:Support --space ext:acme-001 --name report --yes  # the same, by agent and space',
    ],
  })
    .argument('<cron_job_id>', 'the id of the job at the service')
    .option('--agent <agent>', 'with --name: an agent_id, or name:<name> with --space')
    .option('--space <space>', SPACE_HELP)
    .option('--name <name>', 'with --agent: the name of the job')
    .option('--yes', 'confirm in advance')
    .action(
      deferred(async (context, cron_job_id, { yes = false, ...options }) => {
        const { adoptJob } = await import('../../cron/adopt-forget.ts');
        const { parseNamedJob } = await import('../../cron/job-flags.ts');
        const { toWireSchedule } = await import('../../cron/schedule.ts');
        const { key, data } = await adoptJob(context, cron_job_id, parseNamedJob(options), yes);
        const { agent_id, name, schedule } = data;
        const job = { cron_job_id, status: 'adopted', agent_id, name, key };
        return recordResult(job, { ...job, schedule: schedule && toWireSchedule(schedule) });
      }),
    );
