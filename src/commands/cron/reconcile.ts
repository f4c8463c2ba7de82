import { command, SERVICE_EXITS } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { shellCommand } from '../../cli/shell-command.ts';
import type { GlobalFlags } from '../../config/global-flags.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { toWireSchedule } from '../../cron/cron-result.ts';
import type { JobReservation } from '../../cron/jobs.ts';
import type { Reconciled, ReconcileOptions } from '../../cron/reconcile.ts';
import { OutcomeUnknownError } from '../../errors.ts';
import { type Column, listResult } from '../../output/command-result.ts';

const TONES = { adopted: 'good', released: 'warn', unknown: 'bad' } as const;

function describeResult({ status, candidates }: Reconciled): string {
  if (status === 'adopted') return 'created';
  if (status === 'released') return 'treated as not created';
  return candidates.length > 0 ? `could be ${candidates.join(' or ')}` : 'not listed';
}

const COLUMNS: readonly Column<Reconciled>[] = [
  { header: 'JOB', value: ({ cron_job_id }) => cron_job_id },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'AGENT', value: ({ reservation }) => reservation.data.agent_id },
  { header: 'NAME', value: ({ reservation }) => reservation.data.name },
  { header: 'RESERVED', value: ({ reservation }) => reservation.at, isTime: true },
  { header: 'NOTE', value: describeResult, fit: 'below' },
  { header: 'KEY', value: ({ reservation }) => reservation.key, isOptional: true, tone: () => 'dim' },
];

function resultJson(result: Reconciled): object {
  const { reservation, status, cron_job_id, candidates } = result;
  const { agent_id, name, schedule } = reservation.data;
  const { key, at } = reservation;
  const wire = schedule && toWireSchedule(schedule);
  return {
    cron_job_id,
    status,
    agent_id,
    name,
    schedule: wire,
    key,
    reserved_at: at,
    candidates,
    note: describeResult(result),
  };
}

function openOutcomesError(results: readonly Reconciled[], flags: GlobalFlags): OutcomeUnknownError | undefined {
  const open = results.filter(({ status }) => status === 'unknown');
  if (open.length === 0) return undefined;
  const missing = open.filter(({ candidates }) => candidates.length === 0);
  const guessable = open.some(({ candidates }) => candidates.length > 0);
  const hints = [
    missing.length > 0 &&
      `If you are sure that a job which is not listed was not created: ${shellCommand(['cron', 'reconcile', '--assume-not-created'], flags)}`,
    guessable &&
      `If you know which job it is: ${shellCommand(['cron', 'adopt', '<cron_job_id>', '--key', '<key>'], flags)}`,
    guessable && `If it is none of them, and so was not created: ${shellCommand(['cron', 'forget', '<key>'], flags)}`,
  ];
  return new OutcomeUnknownError(
    open.length === 1
      ? 'The outcome of a job is still unknown.'
      : `The outcome of ${open.length} jobs is still unknown.`,
    {
      why: open
        .map((each) => `${each.reservation.data.name} (key ${each.reservation.key}): ${describeResult(each)}`)
        .join('\n'),
      hint: hints.filter((line) => line !== false).join('\n'),
      details: { keys: open.map(({ reservation }) => reservation.key) },
    },
  );
}

async function confirmNotCreated(context: Context, { data, at }: JobReservation): Promise<boolean> {
  return await context.confirm(
    `The service does not list job ${JSON.stringify(data.name)} of agent ${data.agent_id} (reserved ${at}). Treat it as not created?`,
  );
}

function hintWithoutList(flags: GlobalFlags): string {
  const adopt = shellCommand(['cron', 'adopt', '<cron_job_id>', '--key', '<key>'], flags);
  const forget = shellCommand(['cron', 'forget', '<key>'], flags);
  return `Reconciling needs the service's list. If you know whether the job was created, record that yourself: ${adopt} or ${forget}`;
}

export default command<ReconcileOptions>({
  description:
    "Checks in the service's list whether jobs with an unknown outcome were created. Adopts a new job if it is the only match; never guesses among several.",
  flags: [
    { usage: '--key <key>', description: 'only this job; the error about it shows its key' },
    {
      usage: '--assume-not-created',
      description: 'treat jobs that are not listed as not created; they may be created again',
    },
  ],
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/cron.ts')).CRON_RECONCILE,
  scopes: [SCOPE.listJobs],
  exits: [...SERVICE_EXITS, 'unknown', 'partial'],
  examples: [
    { line: 'partnerctl cron reconcile', does: 'find out whether jobs whose response was lost exist' },
    {
      line: 'partnerctl cron reconcile --assume-not-created',
      does: 'let jobs that are not listed be created again',
    },
  ],
  parse: (args) => ({
    key: args.nonEmpty('key'),
    assumeNotCreated: args.isSet('assume-not-created'),
  }),
  async run(context, options) {
    const [{ reconcileJobs }, { findAnew }] = await Promise.all([
      import('../../cron/reconcile.ts'),
      import('../../cron/service-jobs.ts'),
    ]);
    const { clock, abortSignal: signal, flags, isInteractive, progress } = context;
    const http = await context.http();
    const log = await context.log();
    progress.start('Reconciling the jobs');
    const deps = {
      origin: http.baseUrl,
      log,
      clock,
      signal,
      findAnew: findAnew({ http, log, clock, signal }, hintWithoutList(flags)),
      confirm: isInteractive ? (reservation: JobReservation) => confirmNotCreated(context, reservation) : undefined,
      onWait: (ms: number) => progress.start('Waiting, because a job may still be created or listed', ms),
    };
    const results = await reconcileJobs(deps, options);
    return listResult(results, COLUMNS, {
      empty: 'There is nothing to reconcile.',
      json: resultJson,
      failure: () => openOutcomesError(results, flags),
    });
  },
});
