import { listJobs } from '../../api/calls.ts';
import type { Http } from '../../api/http.ts';
import { ListUnavailable, toListFailure } from '../../api/list-failure.ts';
import { SPACE_DESCRIPTION } from '../../cli/agent-args.ts';
import { command, SERVICE_EXITS } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { shellCommand } from '../../cli/shell-command.ts';
import type { GlobalFlags } from '../../config/global-flags.ts';
import type { JsonObject } from '../../contract/json.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { JOB_LIST } from '../../cron/job-list.ts';
import {
  findKnownJobs,
  type JobRow,
  joinRows,
  type KnownJobs,
  type OwnerAgents,
  rowsOfAgents,
  toLocalRows,
} from '../../cron/job-rows.ts';
import { NoOperationError, PartnerctlError, UsageError, withHint } from '../../errors.ts';
import { type Column, type CommandResult, listResult } from '../../output/command-result.ts';
import { readAgentSpaces } from '../../provision/space-record.ts';
import { findOwnerAgents, type JobOwner, parseJobOwner, recordedOwnerAgents } from './shared/job-agent.ts';

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
  { header: 'AGENT', value: ({ agent_id, agent_text }) => agent_id ?? agent_text, isOptional: true },
  { header: 'NAME', value: ({ name }) => name, fit: 'end' },
  { header: 'SCHEDULE', value: ({ description }) => description },
  { header: 'NEXT RUN', value: ({ next, state }) => (state === 'gone' ? null : next), isTime: true },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => TONES[state] },
  { header: 'SPACE', value: ({ external_space_id }) => external_space_id },
];

interface Input {
  readonly local: boolean;
  /** Whose jobs to list; undefined for those of all agents. */
  readonly owner: JobOwner | undefined;
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

/** @param agents undefined for the jobs of all agents */
function toCommandResult(
  context: Context,
  all: AsyncIterable<JobRow>,
  { agents, empty }: { readonly agents: OwnerAgents | undefined; readonly empty: string },
): CommandResult {
  const warnLeftOut = (count: number) =>
    context.warn(
      `${countJobs(count, 'is', 'are')} left out: the service does not say which agent runs ${count === 1 ? 'it' : 'them'}.`,
    );
  const rows = agents ? rowsOfAgents(all, agents, warnLeftOut) : all;
  const counts: Counts = { unknown: 0, unlisted: 0, gone: 0, goneKey: undefined };
  async function* counted(): AsyncGenerator<JobRow> {
    for await (const row of rows) {
      if (row.state === 'unknown' || row.state === 'unlisted' || row.state === 'gone') counts[row.state] += 1;
      if (row.state === 'gone') counts.goneKey = row.key;
      yield row;
    }
  }
  return listResult(counted(), COLUMNS, {
    empty: agents ? 'No such jobs are scheduled.' : empty,
    json: ({ json }) => json,
    summary: () => formatAdvice(counts, context.flags),
  });
}

/** Reads the service's list. If there is none, the error says how to see what the state records. */
async function* readList(http: Http, flags: GlobalFlags): AsyncGenerator<JsonObject> {
  try {
    yield* listJobs(http);
  } catch (error) {
    const failure = toListFailure(error, { name: JOB_LIST, wasRead: false, isPartlyRead: false });
    const isAbsent = failure instanceof ListUnavailable && failure.isAbsent;
    if (!(error instanceof PartnerctlError) || !(isAbsent || error instanceof NoOperationError)) throw error;
    const hint = `To list the jobs that the state records, run: ${shellCommand(['cron', 'list', '--local'], flags)}`;
    throw withHint(error, { hint });
  }
}

/** @param origin the base URL of the service; undefined for the jobs of all services */
async function readKnownJobs(context: Context, origin: string | undefined): Promise<KnownJobs> {
  const log = await context.log();
  const entries = (await log.inspect()) ?? [];
  for (const entry of entries) {
    if (entry.kind === 'damaged') await context.warn(`${log.label}:${entry.line} cannot be used: ${entry.why}`);
  }
  const records = entries.flatMap((entry) => (entry.kind === 'record' ? [entry.record] : []));
  return { ...findKnownJobs(records, origin), spaces: readAgentSpaces(records, origin) };
}

export default command<Input>({
  description:
    'Lists the scheduled jobs that the token can access, joined with the state: recorded or not, gone from the service, not listed yet, or with an unknown outcome.',
  flags: [
    { usage: '--agent <agent>', description: 'only the jobs of this agent: an agent_id, or name:<name> with --space' },
    { usage: '--space <space>', description: `only the jobs of this space: ${SPACE_DESCRIPTION}` },
    { usage: '--local', description: 'show what the state records, without calling the service' },
  ],
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/cron.ts')).CRON_LIST,
  scopes: [SCOPE.listJobs, SCOPE.readSpaces, SCOPE.readAgents],
  exits: SERVICE_EXITS,
  examples: [
    { line: 'partnerctl cron list', does: 'all jobs, with readable schedules' },
    { line: 'partnerctl cron list --space ext:acme-001', does: 'the jobs of one customer' },
    { line: "partnerctl cron list -o json --query '[?!recorded]'", does: 'jobs that the state does not know' },
    { line: 'partnerctl cron list --local', does: 'without the network' },
  ],
  parse(args) {
    const owner = parseJobOwner(args);
    const local = args.isSet('local');
    if (local && owner && !recordedOwnerAgents(owner)) {
      throw new UsageError('Names and the ids of spaces can only be looked up at the service, and not with --local.', {
        hint: 'Give --agent <agent_id>, or --space ext:<external_space_id>.',
      });
    }
    return { local, owner };
  },
  async run(context, { local, owner }) {
    const now = context.clock.now();
    if (local) {
      const known = await readKnownJobs(context, await context.baseUrl());
      const agents = owner && recordedOwnerAgents(owner);
      return toCommandResult(context, toLocalRows(known, now), { agents, empty: 'The state knows no jobs.' });
    }
    const http = await context.http();
    const agents = owner && (await findOwnerAgents(context, http, owner));
    context.progress.start('Reading the jobs');
    const known = await readKnownJobs(context, http.baseUrl);
    const rows = joinRows({ items: readList(http, context.flags), contract: http.contract }, known, now);
    return toCommandResult(context, rows, { agents, empty: 'There are no scheduled jobs.' });
  },
});
