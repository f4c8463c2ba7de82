import { command, SERVICE_EXITS } from '../../cli/command.ts';
import { shellCommand } from '../../cli/shell-command.ts';
import type { GlobalFlags } from '../../config/global-flags.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { toWireSchedule } from '../../cron/cron-result.ts';
import type { RecordedJob } from '../../cron-old/job-records.ts';
import type { ReconcileOptions, ReconcileResult } from '../../cron-old/reconcile.ts';
import { OutcomeUnknownError } from '../../errors.ts';
import { type Column, listResult } from '../../output/command-result.ts';

const GRACE_MS = 10_000;

const TONES = { adopted: 'good', released: 'warn', unknown: 'bad', in_progress: 'warn' } as const;

function describeResult({ status, candidates, settlesAt }: ReconcileResult): string {
  if (status === 'adopted') return 'created';
  if (status === 'released') return 'treated as not created';
  if (status === 'in_progress' && settlesAt !== null)
    return `another machine may still be creating it; settled at ${settlesAt}`;
  if (status === 'in_progress') return 'another process is creating it';
  if (candidates.length > 0) return `could be ${candidates.join(' or ')}`;
  if (settlesAt === null) return 'not listed';
  // Each run counts anew, so that running it again later settles nothing.
  return `not listed; it may still appear until ${settlesAt}, counted from this run: --assume-not-created waits until then`;
}

const COLUMNS: readonly Column<ReconcileResult>[] = [
  { header: 'JOB', value: ({ cron_job_id }) => cron_job_id, fit: 'middle' },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'AGENT', value: ({ reservation }) => reservation.snapshot.agent_id, fit: 'middle' },
  { header: 'NAME', value: ({ reservation }) => reservation.snapshot.name },
  { header: 'RESERVED', value: ({ reservation }) => reservation.at, isTime: true },
  { header: 'NOTE', value: describeResult, fit: 'below' },
  { header: 'KEY', value: ({ reservation }) => reservation.key, fit: 'middle', isOptional: true, tone: () => 'dim' },
];

function resultJson(result: ReconcileResult): object {
  const { reservation, status, cron_job_id, candidates } = result;
  const { agent_id, name, schedule } = reservation.snapshot;
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

function openOutcomesError(results: readonly ReconcileResult[], flags: GlobalFlags): OutcomeUnknownError | undefined {
  const open = results.filter(({ status }) => status === 'unknown' || status === 'in_progress');
  if (open.length === 0) return undefined;
  const missing = open.filter(({ status, candidates }) => status === 'unknown' && candidates.length === 0);
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
        .map((each) => `${each.reservation.snapshot.name} (key ${each.reservation.key}): ${describeResult(each)}`)
        .join('\n'),
      hint: hints.filter((line) => line !== false).join('\n') || 'Run it again in a while.',
      details: { keys: open.map(({ reservation }) => reservation.key) },
    },
  );
}

function replayNote({ remoteId, snapshot }: RecordedJob): string {
  return `note: ${remoteId} (${snapshot.name}) was created when the state could not be written; it is recorded now.`;
}

export default command<ReconcileOptions & { readonly key: string | undefined }>({
  description:
    "Checks in the service's list whether jobs with an unknown outcome were created. Adopts a new job if it is the only match; never guesses among several.",
  flags: [
    { usage: '--key <key>', description: 'only this job; the error about it shows its key' },
    {
      usage: '--assume-not-created',
      description: 'treat jobs that are not listed as not created; they may be created again',
    },
    {
      usage: '--grace <duration>',
      description:
        'how long a job may take to appear in the list, from when this command first sees that its process has ended',
      default: '10s',
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
    graceMs: args.duration('grace') ?? GRACE_MS,
  }),
  async run(context, options) {
    const [{ reconcileAll }, { reconcileDeps, replayRecoveryFiles }, { openJobLedger }] = await Promise.all([
      import('../../cron-old/reconcile-all.ts'),
      import('../../cron-old/reconcile-deps.ts'),
      import('../../cron-old/job-ledger.ts'),
    ]);
    const ledger = await openJobLedger(context);
    for (const replayed of await replayRecoveryFiles(context, ledger)) await context.notice(replayNote(replayed));
    const http = await context.http();
    context.progress.start('Reconciling the jobs');
    const results = await reconcileAll(reconcileDeps(context, http, ledger), options);
    return listResult(results, COLUMNS, {
      empty: 'There is nothing to reconcile.',
      json: resultJson,
      failure: () => openOutcomesError(results, context.flags),
    });
  },
});
