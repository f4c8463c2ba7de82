import { listJobs } from '../api/calls.ts';
import { comparableAgent } from '../contract/values.ts';
import { damageWarnings } from '../state/log.ts';
import type { LogRecord } from '../state/record.ts';
import { standings } from '../state/standing.ts';
import type { CronContext } from './context.ts';
import { type AgentIds, findOwnerAgents } from './find-agent.ts';
import type { AgentOptions } from './job-flags.ts';
import { JOBS, type JobReservation, type RecordedJob } from './recorded-job.ts';
import { type JobRow, joinRows, type KnownJobs, toLocalRows } from './rows.ts';

/** What a listing needs besides. */
export interface ListHooks {
  /** Returns the external id of the space of each agent, as the state knows it. */
  readonly readSpaces: (records: readonly LogRecord[], origin: string | undefined) => KnownJobs['spaces'];
  /** Called with the number of jobs whose agent the service does not tell, unless it is 0, after the last row. */
  readonly onLeftOut: (count: number) => Promise<void>;
}

/** @param origin the base URL of the service; undefined for the jobs of all services */
async function readKnownJobs(context: CronContext, origin: string | undefined, hooks: ListHooks): Promise<KnownJobs> {
  const log = await context.log();
  const entries = (await log.inspect()) ?? [];
  for (const warning of damageWarnings(entries, log.label)) await context.warn(warning);
  const records = entries.flatMap((entry) => (entry.kind === 'record' ? [entry.record] : []));
  const all = [...standings(records, JOBS).values()];
  const isOfService = ({ data }: RecordedJob | JobReservation) => origin === undefined || data.origin === origin;
  return {
    jobs: all.flatMap(({ objects }) => objects).filter(isOfService),
    open: all.flatMap(({ open }) => open).filter(isOfService),
    spaces: hooks.readSpaces(records, origin),
  };
}

/** Selects the rows of some agents; all of them without. */
async function* selectRows(
  rows: AsyncIterable<JobRow>,
  agents: AgentIds | undefined,
  { onLeftOut }: ListHooks,
): AsyncGenerator<JobRow> {
  let leftOut = 0;
  for await (const row of rows) {
    const { agent_id, agent_text = '' } = row;
    if (!agents || agents.has(comparableAgent(agent_id ?? agent_text))) yield row;
    else if (agent_id === undefined) leftOut += 1;
  }
  if (leftOut > 0) await onLeftOut(leftOut);
}

/** Lists the jobs of the service, joined with the state. @param agents whose jobs are meant; all jobs without them */
export async function listJobsOf(
  context: CronContext,
  agents: AgentIds | undefined,
  hooks: ListHooks,
): Promise<AsyncIterable<JobRow>> {
  const http = await context.http();
  context.progress.start('Reading the jobs');
  const known = await readKnownJobs(context, http.baseUrl, hooks);
  const listed = { items: listJobs(http), contract: http.contract };
  return selectRows(joinRows(listed, known, context.clock.now()), agents, hooks);
}

/**
 * Lists the jobs of an agent or a space, or all of them.
 * @param options `local`: list what the state records, without calling the service
 * @throws as `findOwnerAgents`; as the rows are read, as `listJobs`
 */
export async function listJobRows(
  context: CronContext,
  { local = false, ...owner }: AgentOptions & { readonly local?: boolean | undefined },
  hooks: ListHooks,
): Promise<AsyncIterable<JobRow>> {
  const agents = await findOwnerAgents(context, { ...owner, local });
  if (!local) return await listJobsOf(context, agents, hooks);
  const known = await readKnownJobs(context, await context.baseUrl(), hooks);
  return selectRows(toLocalRows(known, context.clock.now()), agents, hooks);
}
