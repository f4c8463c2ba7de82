import { listJobs } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { ListUnavailable, toListFailure } from '../api/list-failure.ts';
import type { JsonObject } from '../contract/json.ts';
import { comparableAgent } from '../contract/values.ts';
import { NoOperationError, PartnerctlError, withHint } from '../errors.ts';
import { damageWarnings } from '../state/log.ts';
import type { LogRecord } from '../state/record.ts';
import { standings } from '../state/standing.ts';
import type { CronContext } from './context.ts';
import { findOwnerAgents, type OwnerAgents } from './find-agent.ts';
import type { AgentOptions } from './job-flags.ts';
import { JOBS, type JobReservation, type RecordedJob } from './recorded-job.ts';
import { type JobRow, joinRows, type KnownJobs, toLocalRows } from './rows.ts';
import { JOB_LIST } from './service-jobs.ts';

/** What a listing needs besides. */
export interface ListHooks {
  /** Returns the external id of the space of each agent, as the state knows it. */
  readonly readSpaces: (records: readonly LogRecord[], origin: string | undefined) => KnownJobs['spaces'];
  /** Called with the number of jobs whose agent the service does not tell, unless it is 0, after the last row. */
  readonly onLeftOut: (count: number) => Promise<void>;
}

/** Reads the service's list. If there is none, the error says how to see what the state records. */
async function* readList(http: Http, command: CronContext['command']): AsyncGenerator<JsonObject> {
  try {
    yield* listJobs(http);
  } catch (error) {
    const failure = toListFailure(error, { name: JOB_LIST, wasRead: false, isPartlyRead: false });
    const isAbsent = failure instanceof ListUnavailable && failure.isAbsent;
    if (!(error instanceof PartnerctlError) || !(isAbsent || error instanceof NoOperationError)) throw error;
    throw withHint(error, {
      hint: `To list the jobs that the state records, run: ${command(['cron', 'list', '--local'])}`,
    });
  }
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

/** Selects the rows of some agents. */
async function* rowsOfAgents(
  rows: AsyncIterable<JobRow>,
  { ids, external_space_id }: OwnerAgents,
  { onLeftOut }: ListHooks,
): AsyncGenerator<JobRow> {
  let leftOut = 0;
  for await (const row of rows) {
    const { agent_id, agent_text = '' } = row;
    const isOfSpace = external_space_id !== undefined && row.external_space_id === external_space_id;
    if (isOfSpace || ids.has(comparableAgent(agent_id ?? agent_text))) yield row;
    else if (agent_id === undefined) leftOut += 1;
  }
  if (leftOut > 0) await onLeftOut(leftOut);
}

/** Lists the jobs of the service, joined with the state. @param agents whose jobs are meant; all jobs without them */
export async function listJobsOf(
  context: CronContext,
  agents: OwnerAgents | undefined,
  hooks: ListHooks,
): Promise<AsyncIterable<JobRow>> {
  const http = await context.http();
  context.progress.start('Reading the jobs');
  const known = await readKnownJobs(context, http.baseUrl, hooks);
  const items = readList(http, context.command);
  const rows = joinRows({ items, contract: http.contract }, known, context.clock.now());
  return agents ? rowsOfAgents(rows, agents, hooks) : rows;
}

/**
 * Lists the jobs of an agent or a space, or all of them.
 * @param local whether to list what the state records, without calling the service
 * @throws as `findOwnerAgents`; as the rows are read, as `listJobs`
 */
export async function listJobRows(
  context: CronContext,
  { local = false, ...owner }: AgentOptions & { readonly local?: boolean | undefined },
  hooks: ListHooks,
): Promise<AsyncIterable<JobRow>> {
  const agents = await findOwnerAgents(owner, context.progress, local ? undefined : () => context.http());
  if (!local) return await listJobsOf(context, agents, hooks);
  const known = await readKnownJobs(context, await context.baseUrl(), hooks);
  const rows = toLocalRows(known, context.clock.now());
  return agents ? rowsOfAgents(rows, agents, hooks) : rows;
}
