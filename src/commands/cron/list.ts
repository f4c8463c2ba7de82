import type { Context } from '../../cli/context.ts';
import type { KnownId } from '../../cli/known-ids.ts';
import { leaf, run, SERVICE_EXITS } from '../../cli/leaf.ts';
import { SPACE_HELP } from '../../cli/options.ts';
import { SCOPE } from '../../contract/scopes.ts';
import type { JobRow } from '../../cron/rows.ts';
import { type Column, listResult } from '../../output/command-result.ts';

const TONES = {
  recorded: 'good',
  unrecorded: 'warn',
  gone: 'bad',
  unlisted: 'warn',
  unknown: 'bad',
  local: 'dim',
} as const;

const COLUMNS: readonly Column<JobRow>[] = [
  { header: 'JOB', value: ({ cron_job_id }) => cron_job_id, isOptional: true },
  { header: 'AGENT', value: ({ agent_id, agent_text }) => agent_id ?? agent_text, isWide: true },
  { header: 'NAME', value: ({ name }) => name, fit: 'end' },
  { header: 'SCHEDULE', value: ({ description }) => description, wrapsFirst: true },
  { header: 'NEXT RUN', value: ({ next, state }) => (state === 'gone' ? null : next), isTime: true },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => TONES[state] },
  { header: 'SPACE', value: ({ external_space_id }) => external_space_id },
];

/** What completion offers: the id at the service, and the key in the state. */
function toKnownIds({ cron_job_id, key, name }: JobRow): readonly KnownId[] {
  const description = name ?? '';
  const job: readonly KnownId[] = cron_job_id ? [{ kind: 'job', value: cron_job_id, description }] : [];
  return key ? [...job, { kind: 'key', value: key, description }] : job;
}

function countJobs(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? `job ${one}` : `jobs ${several}`}`;
}

/** How many of the listed jobs need attention. */
interface Counts {
  unknown: number;
  unlisted: number;
  gone: number;
  /** The key of a gone job. */
  goneKey: string;
}

/** Returns what to do about jobs that need attention, a line each. */
function formatAdvice(counts: Counts, context: Context): string {
  const { unknown, gone, unlisted } = counts;
  const lines = [
    unknown > 0 &&
      `${countJobs(unknown, 'has', 'have')} an unknown outcome. Find out whether ${unknown === 1 ? 'it exists' : 'they exist'}: ${context.command(['cron', 'reconcile'])}`,
    gone > 0 &&
      `${countJobs(gone, 'is', 'are')} gone from the service. To let ${gone === 1 ? 'it' : 'one'} be created again: ${context.command(['cron', 'forget', gone === 1 ? counts.goneKey : '<cron_job_id>'])}`,
    unlisted > 0 &&
      `${countJobs(unlisted, 'was', 'were')} recorded just now, and ${unlisted === 1 ? 'is' : 'are'} not listed yet: the service may list a new job a little later.`,
  ];
  return lines.filter((line) => line !== false).join('\n');
}

/** Counts the rows that need attention as they are read. */
async function* countRows(rows: AsyncIterable<JobRow>, counts: Counts): AsyncGenerator<JobRow> {
  for await (const row of rows) {
    if (row.state === 'unknown' || row.state === 'unlisted') counts[row.state] += 1;
    if (row.state === 'gone' && row.key !== undefined) {
      counts.gone += 1;
      counts.goneKey = row.key;
    }
    yield row;
  }
}

export const list = () =>
  leaf('list', 'List scheduled jobs, and what the state knows about them', {
    description:
      'Lists the scheduled jobs that the token can access, joined with the state: recorded or not, gone from the service, not listed yet, or with an unknown outcome.',
    scopes: [SCOPE.listJobs, SCOPE.readSpaces, SCOPE.readAgents],
    exits: SERVICE_EXITS,
    examples: [
      'partnerctl cron list  # all jobs, with readable schedules',
      'partnerctl cron list --space ext:acme-001  # the jobs of one customer',
      'partnerctl cron list --local  # without the network',
    ],
  })
    .option('--agent <agent>', 'only the jobs of this agent: an agent_id, or name:<name> with --space')
    .option('--space <space>', `only the jobs of this space: ${SPACE_HELP}`)
    .option('--local', 'show what the state records, without calling the service')
    .action(
      run(async (context, owner) => {
        const { listJobRows } = await import('../../cron/list.ts');
        const { readAgentSpaces: readSpaces } = await import('../../provision/space-record.ts');
        const { rememberIds } = await import('../../cli/known-ids.ts');
        const onLeftOut = (count: number) =>
          context.warn(
            `${countJobs(count, 'is', 'are')} left out: the service does not say which agent runs ${count === 1 ? 'it' : 'them'}.`,
          );
        const rows = await listJobRows(context, owner, { readSpaces, onLeftOut });
        const counts: Counts = { unknown: 0, unlisted: 0, gone: 0, goneKey: '' };
        const all = owner.local ? 'The state knows no jobs.' : 'There are no scheduled jobs.';
        return listResult(rememberIds(context, countRows(rows, counts), ['job', 'key'], toKnownIds), COLUMNS, {
          empty: (owner.agent ?? owner.space) ? 'No such jobs are scheduled.' : all,
          json: ({ json }) => json,
          summary: () => formatAdvice(counts, context),
        });
      }),
    );
