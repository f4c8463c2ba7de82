import { deferred, defineCommand } from '../../cli/command.ts';
import { SPACE_HELP } from '../../cli/options.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import type { JobRow } from '../../cron/job-rows.ts';
import { type Column, listResult } from '../../output/command-result.ts';

const TONES = { recorded: 'good', unrecorded: 'warn', gone: 'bad', unlisted: 'warn', unknown: 'bad' } as const;

const COLUMNS: readonly Column<JobRow>[] = [
  { header: 'JOB', value: ({ cron_job_id }) => cron_job_id, isOptional: true },
  { header: 'NAME', value: ({ name }) => name },
  { header: 'AGENT', value: ({ agent }) => agent },
  { header: 'SPACE', value: ({ external_space_id }) => external_space_id },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => TONES[state] },
  { header: 'NEXT RUN', value: ({ next, state }) => (state === 'gone' ? null : next), isTime: true, isOptional: true },
  { header: 'SCHEDULE', value: ({ description }) => description, fit: 'end', isOptional: true },
];

export const list = () =>
  defineCommand('list', 'List scheduled jobs, and what the state knows about them', {
    description:
      'Lists the scheduled jobs that the token can access, joined with the state: recorded or not, gone from the service (`cron forget` lets one be created again), not listed yet, or with an unknown outcome (`cron reconcile` finds out whether one exists).',
    scopes: [OPERATIONS.listCronJobs.scope, OPERATIONS.listSpaces.scope, OPERATIONS.listAgents.scope],
    json: '[{cron_job_id?, …, in_words, key?, external_space_id?, recorded, remote?}], with the fields of the service',
    examples: [
      'partnerctl cron list  # all jobs, with readable schedules',
      'partnerctl cron list --space ext:acme-001  # the jobs of one customer',
      "partnerctl cron list -o json --query '[?!recorded].cron_job_id'  # those that the state does not know",
    ],
  })
    .option('--agent <agent>', 'only the jobs of this agent: an agent_id, or name:<name> with --space')
    .option('--space <space>', `only the jobs of this space: ${SPACE_HELP}`)
    .action(
      deferred(async (context, owner) => {
        const { findOwnerAgents } = await import('../../cron/job-flags.ts');
        const { listJobsOf } = await import('../../cron/job-rows.ts');
        const { rememberIds } = await import('../../cli/completion-ids.ts');
        const agents = await findOwnerAgents(context, owner);
        const rows = listJobsOf(context, agents);
        return listResult(rememberIds(context, 'cron_job_id', rows), COLUMNS, {
          empty: 'There are no jobs to list.',
          json: ({ json }) => json,
        });
      }),
    );
