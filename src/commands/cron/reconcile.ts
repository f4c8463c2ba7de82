import { deferred, defineCommand, fieldsOf } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { comparableAgent } from '../../contract/values.ts';
import type { Reconciled } from '../../cron/find-lost.ts';
import type { JobReservation } from '../../cron/job.ts';
import type { CronSchedule } from '../../cron/schedule.ts';
import { OutcomeUnknownError } from '../../errors.ts';
import { type Column, listResult } from '../../output/command-result.ts';

const TONES = { adopted: 'good', released: 'warn', unknown: 'bad' } as const;

function describeResult({ status, candidates }: Reconciled): string {
  if (status === 'adopted') return 'created';
  if (status === 'released') return 'treated as not created';
  return candidates.length > 0 ? `could be ${candidates.join(' or ')}` : 'not listed';
}

/** With the name of the agent and its customer, where the state knows them. */
type Row = Reconciled & Partial<Readonly<Record<'agent' | 'external_space_id', string>>>;

const COLUMNS: readonly Column<Row>[] = [
  { header: 'JOB', value: ({ cron_job_id }) => cron_job_id },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'AGENT', value: ({ agent, reservation }) => agent ?? reservation.data.agent_id },
  { header: 'SPACE', value: ({ external_space_id }) => external_space_id },
  { header: 'NAME', value: ({ reservation }) => reservation.data.name },
  { header: 'RESERVED', value: ({ reservation }) => reservation.at, isTime: true },
  { header: 'NOTE', value: describeResult, isNote: true },
  { header: 'KEY', value: ({ reservation }) => reservation.key, isWide: true, tone: () => 'dim' },
];

function resultJson({ reservation, agent: _, ...result }: Row, toWire: (schedule: CronSchedule) => object) {
  const { key, at: reserved_at } = reservation;
  const { agent_id, name, schedule } = reservation.data;
  const note = describeResult({ reservation, ...result });
  return { ...result, agent_id, name, schedule: schedule && toWire(schedule), key, reserved_at, note };
}

function adoptOrForget({ command }: Context): string {
  const adopt = command(['cron', 'adopt', '<cron_job_id>', '--agent', '<agent_id>', '--name', '<name>']);
  return `If you know which job it is: ${adopt}\nIf you know that it was not created: ${command(['cron', 'forget', '<key>'])}`;
}

function describeJob({ reservation, agent, external_space_id: space }: Row): string {
  const { name, agent_id } = reservation.data;
  return `${name} of ${agent ?? agent_id}${space === undefined ? '' : ` in ${space}`} (key ${reservation.key})`;
}

function openOutcomesError(results: readonly Row[], context: Context): OutcomeUnknownError | undefined {
  const open = results.filter(({ status }) => status === 'unknown');
  if (open.length === 0) return undefined;
  const assume = context.command(['cron', 'reconcile', '--assume-not-created']);
  return new OutcomeUnknownError(`Jobs whose outcome is still unknown: ${open.length}.`, {
    why: open.map((each) => `${describeJob(each)}: ${describeResult(each)}`).join('\n'),
    hint: `${adoptOrForget(context)}\nIf you are sure that what is not listed was not created: ${assume}`,
    details: { keys: open.map(({ reservation }) => reservation.key) },
  });
}

export const reconcile = () =>
  defineCommand('reconcile', 'Resolve jobs whose creation has an unknown outcome', {
    description: 'Looks in the list of the service. Adopts a new job if it is the only match; never guesses.',
    scopes: [OPERATIONS.listCronJobs.scope],
    exits: ['unknown'],
    json: `[${fieldsOf<ReturnType<typeof resultJson>>()('cron_job_id, status, candidates, agent_id, external_space_id?, name, schedule, key, reserved_at, note')}]`,
    examples: [
      'partnerctl cron reconcile  # find out whether jobs whose response was lost exist',
      'partnerctl cron reconcile --assume-not-created  # if you know that what is not listed was not created',
      "partnerctl cron reconcile -o json --query '[].{id: cron_job_id, status: status}'  # what became of each, for a script",
    ],
  })
    .option('--assume-not-created', 'treat jobs that are not listed as not created; they may be created again')
    .action(
      deferred(async (context, { assumeNotCreated = false }) => {
        const { reconcileJobs } = await import('../../cron/find-lost.ts');
        const { toWireSchedule } = await import('../../cron/schedule.ts');
        const { JobLists, listNamedJobs } = await import('../../cron/job-list.ts');
        const { readAgents } = await import('../../state/space-record.ts');
        const { clock, abortSignal: signal, prompts, progress } = context;
        const http = await context.http();
        const log = await context.log();
        const deps = {
          ...{ origin: http.baseUrl, log, clock, signal },
          lists: new JobLists({ list: () => listNamedJobs(http), clock, hint: () => adoptOrForget(context) }),
          async isNotCreated({ data, at }: JobReservation) {
            if (assumeNotCreated) return true;
            const { confirm } = prompts;
            if (!confirm) return false;
            const job = `job ${JSON.stringify(data.name)} of agent ${data.agent_id} (reserved ${at})`;
            return await confirm(`The service does not list ${job}. Treat it as not created?`);
          },
          onWait: (ms: number) => progress.start('Waiting, because a job may still be created or listed', ms),
        };
        progress.start('Reconciling the jobs');
        const reconciled = await reconcileJobs(deps);
        const agents = readAgents(await log.read(), http.baseUrl);
        const results = reconciled.map((each): Row => {
          const { name: agent, ...space } = agents.get(comparableAgent(each.reservation.data.agent_id)) ?? {};
          return { ...each, ...(agent !== undefined && { agent }), ...space };
        });
        return listResult(results, COLUMNS, {
          empty: 'There is nothing to reconcile.',
          json: (result) => resultJson(result, toWireSchedule),
          failure: () => openOutcomesError(results, context),
        });
      }),
    );
