import { type Column, list } from '../../answer.ts';
import { listCronJobs } from '../../api/cron-jobs.ts';
import { command } from '../../command.ts';
import { type JobRow, joinedRows, knownJobs, localRows } from '../../cron/inventory.ts';
import { openLedger } from '../../cron/ledger.ts';

const TONES = { recorded: 'good', unrecorded: 'warn', gone: 'bad', unknown: 'bad', local: 'dim' } as const;

const COLUMNS: readonly Column<JobRow>[] = [
  { header: 'JOB', value: ({ cron_job_id }) => cron_job_id, whole: true },
  { header: 'AGENT', value: ({ agent_id }) => agent_id, whole: true },
  { header: 'NAME', value: ({ name }) => name },
  { header: 'SCHEDULE', value: ({ words }) => words },
  { header: 'NEXT RUN', value: ({ next }) => next },
  { header: 'STATE', value: ({ standing }) => standing, tone: ({ standing }) => TONES[standing] },
];

const rowJson = ({ json }: JobRow): object => json;

export default command<{ readonly local: boolean }>({
  description:
    'Lists the scheduled jobs that the token reaches, joined with the state file: recorded there or not, gone from the service, or of unknown outcome.',
  flags: [{ usage: '--local', description: 'show what the state file knows; the service is not asked' }],
  examples: [
    { line: 'partnerctl cron list', does: 'all jobs, with their schedules in words' },
    { line: "partnerctl cron list -o json --query '[?!recorded]'", does: 'those that the state file does not know' },
    { line: 'partnerctl cron list --local', does: 'without network' },
  ],
  input: (words) => ({ local: words.on('local') }),
  async run(context, { local }) {
    const ledger = await openLedger(context);
    const now = context.clock.now();
    if (local) {
      const known = knownJobs((await ledger.readAll()).records, await context.baseUrl());
      return list(localRows(known, now), COLUMNS, { empty: 'The state file knows no jobs.', json: rowJson });
    }
    const http = await context.http();
    context.progress.start('Reading the jobs');
    const known = knownJobs((await ledger.readAll()).records, http.baseUrl);
    return list(joinedRows(listCronJobs(http), known, now), COLUMNS, {
      empty: 'There are no scheduled jobs.',
      json: rowJson,
    });
  },
});
