import { listCronJobs } from '../../api/cron-jobs.ts';
import { command, SERVICE_EXITS } from '../../cli/command.ts';
import { shellCommand } from '../../cli/shell-command.ts';
import type { GlobalFlags } from '../../config/global-flags.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { openJobLedger } from '../../cron/job-ledger.ts';
import { findKnownJobs, type JobRow, joinRows, toLocalRows } from '../../cron/job-rows.ts';
import { type Column, type CommandResult, listResult } from '../../output/command-result.ts';

const TONES = {
  recorded: 'good',
  unrecorded: 'warn',
  gone: 'bad',
  unlisted: 'warn',
  unknown: 'bad',
  local: 'dim',
} as const;

const COLUMNS: readonly Column<JobRow>[] = [
  { header: 'JOB', value: ({ cron_job_id }) => cron_job_id, fit: 'middle' },
  { header: 'AGENT', value: ({ agent_id }) => agent_id, fit: 'middle' },
  { header: 'NAME', value: ({ name }) => name },
  { header: 'SCHEDULE', value: ({ description }) => description },
  { header: 'NEXT RUN', value: ({ next, state }) => (state === 'gone' ? null : next), isTime: true },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => TONES[state] },
];

function countJobs(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? `job ${one}` : `jobs ${several}`}`;
}

/** How many of the listed jobs need attention. */
interface Counts {
  unknown: number;
  unlisted: number;
  gone: number;
  /** The key of a gone job. */
  goneKey: string | undefined;
}

function adviceForGone({ gone, goneKey }: Counts, flags: GlobalFlags): string {
  if (gone === 1 && goneKey !== undefined) {
    return `1 job is gone from the service. To let it be created again: ${shellCommand(['cron', 'forget', goneKey], flags)}`;
  }
  return `${countJobs(gone, 'is', 'are')} gone from the service. To let one be created again: partnerctl cron forget --agent <agent> --name <name>`;
}

/** Returns what to do about jobs that need attention, a line each. */
function formatAdvice(counts: Counts, flags: GlobalFlags): string {
  const { unknown, gone, unlisted } = counts;
  const lines = [
    unknown > 0 &&
      `${countJobs(unknown, 'has', 'have')} an unknown outcome. Find out whether ${unknown === 1 ? 'it exists' : 'they exist'}: ${shellCommand(['cron', 'reconcile'], flags)}`,
    gone > 0 && adviceForGone(counts, flags),
    unlisted > 0 &&
      `${countJobs(unlisted, 'was', 'were')} recorded just now, and ${unlisted === 1 ? 'is' : 'are'} not listed yet: the service may list a new job a little later.`,
  ];
  return lines.filter((line) => line !== false).join('\n');
}

function toCommandResult(rows: AsyncIterable<JobRow>, empty: string, flags: GlobalFlags): CommandResult {
  const counts: Counts = { unknown: 0, unlisted: 0, gone: 0, goneKey: undefined };
  async function* counted(): AsyncGenerator<JobRow> {
    for await (const row of rows) {
      if (row.state === 'unknown' || row.state === 'unlisted' || row.state === 'gone') counts[row.state] += 1;
      if (row.state === 'gone') counts.goneKey = row.key;
      yield row;
    }
  }
  return listResult(counted(), COLUMNS, {
    empty,
    json: ({ json }) => json,
    summary: () => formatAdvice(counts, flags),
  });
}

export default command<{ readonly local: boolean }>({
  description:
    'Lists the scheduled jobs that the token can access, joined with the state: recorded or not, gone from the service, not listed yet, or with an unknown outcome.',
  flags: [{ usage: '--local', description: 'show what the state records, without calling the service' }],
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/cron.ts')).CRON_LIST,
  scopes: [SCOPE.listJobs],
  exits: SERVICE_EXITS,
  examples: [
    { line: 'partnerctl cron list', does: 'all jobs, with readable schedules' },
    { line: "partnerctl cron list -o json --query '[?!recorded]'", does: 'jobs that the state does not know' },
    { line: 'partnerctl cron list --local', does: 'without the network' },
  ],
  parse: (args) => ({ local: args.isSet('local') }),
  async run(context, { local }) {
    const ledger = await openJobLedger(context);
    const now = context.clock.now();
    if (local) {
      const known = findKnownJobs(await ledger.readAll(), await context.baseUrl());
      return toCommandResult(toLocalRows(known, now), 'The state knows no jobs.', context.flags);
    }
    const http = await context.http();
    context.progress.start('Reading the jobs');
    const known = findKnownJobs(await ledger.readAll(), http.baseUrl);
    return toCommandResult(
      joinRows({ items: listCronJobs(http), contract: http.contract }, known, now),
      'There are no scheduled jobs.',
      context.flags,
    );
  },
});
