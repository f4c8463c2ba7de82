import { listJobs } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { ListUnavailable, toListFailure } from '../api/list-failure.ts';
import type { JsonObject } from '../contract/json.ts';
import { NoOperationError, PartnerctlError, UsageError, withHint } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../state/log.ts';
import type { LogRecord } from '../state/record.ts';
import { damageWarnings } from '../state/verify.ts';
import { type AgentOptions, findOwnerAgents, parseJobOwner, recordedOwnerAgents } from './job-agent.ts';
import {
  findKnownJobs,
  type JobRow,
  joinRows,
  type KnownJobs,
  type OwnerAgents,
  rowsOfAgents,
  toLocalRows,
} from './rows.ts';
import { JOB_LIST } from './service-jobs.ts';

/** What listing jobs needs of a command. */
export interface ListContext {
  readonly clock: Clock;
  readonly progress: { start(text: string): void };
  http(): Promise<Http>;
  log(): Promise<Log>;
  baseUrl(): Promise<string | undefined>;
  warn(text: string): Promise<void>;
  command(words: readonly string[]): string;
}

/** What a listing needs besides. */
export interface ListHooks {
  /** Returns the external id of the space of each agent, as the state knows it. */
  readonly readSpaces: (records: readonly LogRecord[], origin: string | undefined) => KnownJobs['spaces'];
  /** Called with the number of jobs whose agent the service does not tell. */
  readonly onLeftOut: (count: number) => Promise<void>;
}

/** Reads the service's list. If there is none, the error says how to see what the state records. */
async function* readList(http: Http, command: ListContext['command']): AsyncGenerator<JsonObject> {
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
async function readKnownJobs(
  context: ListContext,
  origin: string | undefined,
  { readSpaces }: ListHooks,
): Promise<KnownJobs> {
  const log = await context.log();
  const entries = (await log.inspect()) ?? [];
  for (const warning of damageWarnings(entries, log.label)) await context.warn(warning);
  const records = entries.flatMap((entry) => (entry.kind === 'record' ? [entry.record] : []));
  return { ...findKnownJobs(records, origin), spaces: readSpaces(records, origin) };
}

/**
 * Lists the jobs of the service, joined with the state.
 * @param agents whose jobs are meant; all jobs without them
 * @throws as the rows are read, as `listJobs`
 */
export async function listJobsOf(
  context: ListContext,
  agents: OwnerAgents | undefined,
  hooks: ListHooks,
): Promise<AsyncIterable<JobRow>> {
  const http = await context.http();
  context.progress.start('Reading the jobs');
  const known = await readKnownJobs(context, http.baseUrl, hooks);
  const items = readList(http, context.command);
  const rows = joinRows({ items, contract: http.contract }, known, context.clock.now());
  return agents ? rowsOfAgents(rows, agents, hooks.onLeftOut) : rows;
}

/**
 * Lists the jobs of an owner, joined with the state.
 * @param owner the agent or the space whose jobs are meant; all jobs if neither is given
 * @throws UsageError for an invalid owner; NotFoundError if there is none; as `listJobsOf`
 */
export async function listWithState(
  context: ListContext,
  owner: AgentOptions,
  hooks: ListHooks,
): Promise<AsyncIterable<JobRow>> {
  const parsed = parseJobOwner(owner);
  const agents = parsed && (await findOwnerAgents(context, await context.http(), parsed));
  return await listJobsOf(context, agents, hooks);
}

/** Lists the jobs that the state records, without calling the service. The parameters are those of `listWithState`. */
export async function listRecorded(
  context: ListContext,
  owner: AgentOptions,
  hooks: ListHooks,
): Promise<AsyncIterable<JobRow>> {
  const parsed = parseJobOwner(owner);
  const agents = parsed && recordedOwnerAgents(parsed);
  if (parsed && !agents) {
    throw new UsageError('Names and the ids of spaces can only be looked up at the service, and not with --local.', {
      hint: 'Give --agent <agent_id>, or --space ext:<external_space_id>.',
    });
  }
  const known = await readKnownJobs(context, await context.baseUrl(), hooks);
  const rows = toLocalRows(known, context.clock.now());
  return agents ? rowsOfAgents(rows, agents, hooks.onLeftOut) : rows;
}
