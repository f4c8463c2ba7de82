import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import type { ListedSpace } from '../contract/spaces.ts';
import { type JobCreator, openJobCreator } from '../cron/create-jobs.ts';
import {
  type CronResult,
  createScheduleDescriber,
  type DescribeSchedule,
  initialCronResult,
} from '../cron/cron-result.ts';
import type { CronJob } from '../cron/job.ts';
import type { ListedJob } from '../cron/listed-job.ts';
import { DuplicateError, isTokenRejected, NotFoundError, OutcomeUnknownError, PartnerctlError } from '../errors.ts';
import type { CommandResult } from '../output/command-result.ts';
import { joinSentences } from '../output/sentences.ts';
import { readOnce } from '../state-old/ledger.ts';
import { type KeyState, readKey } from '../state-old/once.ts';
import { hasEnded } from '../state-old/owner.ts';
import type { SpaceKnowledge } from './late-effects.ts';
import { cronJobsOf, type ManifestDocument } from './manifest.ts';
import { planResult } from './plan-result.ts';
import { openHistory, type ProvisionHistory, withHistory } from './provision-history.ts';
import { type PresentAgent, type PresentSpace, planProvision } from './provision-plan.ts';
import { type FoundSpaces, fetchRemoteState, findSpaces, RemoteStateUnavailable } from './remote-state.ts';
import { inStep } from './run-failure.ts';
import { type DocumentKnowledge, type JobKnowledge, planSpace, type SpacePlan } from './space-plan.ts';
import { type SpaceSnapshot, spaceKey } from './space-records.ts';

interface ReaderDeps {
  readonly http: Http;
  readonly history: ProvisionHistory;
  /** Reads the reservations of the spaces. */
  readonly ledger: Pick<ProvisionHistory['ledger'], 'read'>;
  readonly retryUnknown: boolean;
}

interface PlanOptions {
  /** How many documents are read at a time. */
  readonly concurrency: number;
  /** Plans for `provision --retry-unknown`. */
  readonly retryUnknown: boolean;
}

type SpaceReading = Pick<DocumentKnowledge, 'document' | 'known' | 'isBusy'>;

/** Runs `act` on all items, some at a time. After a failure, no further item is started. @throws the first failure */
async function mapAll<Item, Value>(
  items: readonly Item[],
  concurrency: number,
  act: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const { default: pLimit } = await import('p-limit');
  const limit = pLimit(concurrency);
  try {
    return await Promise.all(items.map((item) => limit(act, item)));
  } finally {
    limit.clearQueue();
  }
}

/** Reads what the service shows and the state file records about the spaces of a run. Sends only reads. */
class PlanReader {
  private readonly context: Context;
  private readonly deps: ReaderDeps;
  private isReported = false;

  constructor(context: Context, deps: ReaderDeps) {
    this.context = context;
    this.deps = deps;
  }

  /** The listed spaces; undefined if they cannot be listed. */
  async readSpaces(documents: readonly ManifestDocument[]): Promise<FoundSpaces | undefined> {
    const { http, history } = this.deps;
    try {
      return await findSpaces(http, documents, history);
    } catch (error) {
      await this.reportUnavailable(error, 'spaces');
      return undefined;
    }
  }

  /** Reports once that a list cannot be read. @throws any other error; that of a token that is not valid at all */
  private async reportUnavailable(error: unknown, list: 'spaces' | 'agents', step?: string): Promise<void> {
    const reason = error instanceof RemoteStateUnavailable ? error.reason : error;
    const isAbsent = list === 'agents' && reason instanceof NotFoundError && reason.info.fromGateway !== true;
    if (!(error instanceof RemoteStateUnavailable || isAbsent) || isTokenRejected(reason)) {
      throw step === undefined ? reason : inStep(step, reason);
    }
    if (this.isReported) return;
    this.isReported = true;
    const { message } = reason instanceof Error ? reason : new Error(String(reason));
    await this.context.notice(
      `note: cannot read the existing ${list} (${message}) The plan shows what the state knows.`,
    );
  }

  async readDocument(document: ManifestDocument, found: FoundSpaces | undefined): Promise<SpaceReading> {
    const { history, retryUnknown } = this.deps;
    const { manifest } = document;
    const state = await this.readState(manifest.external_space_id);
    const space = found?.spaces.get(manifest.external_space_id);
    const recalled = history.recall(manifest);
    const { present, canRead } =
      found && space ? await this.readAgents(document, space) : { present: undefined, canRead: found !== undefined };
    const known: SpaceKnowledge = {
      manifest,
      canRead,
      listedSpaceId: space?.space_id,
      present: canRead ? present : recallListed(recalled, space),
      similar: await history.findSimilar(document, {
        canRead,
        space: found?.similar.get(manifest.external_space_id),
      }),
      recalled,
      unsettled: state.open.filter(({ isAbandoned }) => isAbandoned && !retryUnknown),
      lines: history.blockingLines(manifest),
      label: history.label,
      retryUnknown,
    };
    return { document, known, isBusy: state.open.some(({ isAbandoned }) => !isAbandoned) };
  }

  private readState(externalId: string): Promise<KeyState<SpaceSnapshot>> {
    const { http, ledger } = this.deps;
    const { clock } = this.context;
    return readKey(spaceKey(http.baseUrl, externalId), { clock, hasEnded, ledger });
  }

  private async readAgents(
    { manifest, source }: ManifestDocument,
    space: ListedSpace,
  ): Promise<{ readonly present: PresentSpace | undefined; readonly canRead: boolean }> {
    const { http, history } = this.deps;
    try {
      const listed = await fetchRemoteState(http, space);
      return { present: withHistory(listed, history.recall(manifest)), canRead: true };
    } catch (error) {
      const step = `Cannot read the agents of ${JSON.stringify(manifest.external_space_id)} (${source})`;
      await this.reportUnavailable(error, 'agents', step);
      return { present: undefined, canRead: false };
    }
  }
}

/** A recorded space, with the fields that the service lists for it. */
function recallListed(recalled: PresentSpace | undefined, listed: ListedSpace | undefined): PresentSpace | undefined {
  if (!recalled || !listed || recalled.space_id !== listed.space_id) return recalled;
  const { external_space_id, name, description, is_org_wide, retirement } = listed;
  return {
    ...recalled,
    external_space_id: external_space_id ?? undefined,
    name,
    description,
    retirement,
    ...(typeof is_org_wide === 'boolean' && { is_org_wide }),
  };
}

/** What jobs are read with. */
interface JobDeps {
  /** Undefined if no agent exists, so that no job does. */
  readonly creator: JobCreator | undefined;
  readonly describe: DescribeSchedule;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Decides about a job as `provision` does, without writing. @throws the failure of a read */
async function dryRunJob(
  { creator, describe, now }: JobDeps,
  job: Omit<CronJob, 'agent_id'>,
  present: PresentAgent | undefined,
): Promise<CronResult> {
  const agentId = present?.agent_id;
  if (agentId === undefined || !creator) {
    const initial = await initialCronResult(
      { index: 0, source: undefined, job: { ...job, agent_id: null }, key: null },
      now,
      describe,
    );
    return { ...initial, status: present ? 'skipped' : 'planned' };
  }
  const result = await creator.create({ index: 0, source: undefined, job: { ...job, agent_id: agentId } });
  const { error } = result;
  if (error === undefined || error instanceof DuplicateError || error instanceof OutcomeUnknownError) return result;
  throw error;
}

/**
 * For manifests without jobs: makes the lookup return undefined, after a note, where the list has an unexpected shape. All
 * that the list could show are jobs that the manifests do not have.
 */
function tolerateUnreadable(context: Context, jobsOf: JobCreator['jobsOf']): JobCreator['jobsOf'] {
  let isReported = false;
  return async (agentId) => {
    try {
      return await jobsOf(agentId);
    } catch (error) {
      if (!(error instanceof PartnerctlError) || error.type !== 'unexpected_shape') throw error;
      if (!isReported) {
        isReported = true;
        await context.notice(
          joinSentences(`note: ${error.message}\nJobs that the manifests do not have are not shown.`),
        );
      }
      return undefined;
    }
  };
}

/** Completes what is known about a document by its jobs. @throws the failure of a read */
async function readJobs(deps: JobDeps, reading: SpaceReading): Promise<DocumentKnowledge> {
  const { document, known } = reading;
  const { manifest } = document;
  const listedJobs: ListedJob[] = [];
  for (const { agent_id } of known.present?.agents ?? []) {
    if (agent_id !== undefined) listedJobs.push(...((await deps.creator?.jobsOf(agent_id)) ?? []));
  }
  const byId = new Map(listedJobs.map((listed) => [listed.cron_job_id, listed]));
  const jobs: JobKnowledge[] = [];
  for (const [agent, { wanted, present }] of planProvision(manifest, known.present).agents.entries()) {
    for (const job of cronJobsOf(wanted)) {
      const result = await dryRunJob(deps, job, present);
      jobs.push({ agent, result, listed: byId.get(result.cron_job_id ?? '') });
    }
  }
  return { ...reading, jobs, listedJobs };
}

/** The ids of the agents that exist in the spaces of a run. */
function agentIds(readings: readonly SpaceReading[]): ReadonlySet<string> {
  return new Set(
    readings.flatMap(({ known }) => known.present?.agents.flatMap(({ agent_id }) => agent_id ?? []) ?? []),
  );
}

/** Plans what provisioning would do. @throws as `readPlans` */
export async function planManifests(
  context: Context,
  documents: readonly ManifestDocument[],
  options: PlanOptions & { readonly hasDetailedExitCode: boolean },
): Promise<CommandResult> {
  return planResult(await readPlans(context, documents, options), options);
}

/**
 * Plans what provisioning would do, in the order of the documents. Sends only reads, and writes nothing: the list of spaces
 * once, the agents of each space, and the list of jobs once.
 * @throws PartnerctlError if a list cannot be read now, or not be understood
 */
async function readPlans(
  context: Context,
  documents: readonly ManifestDocument[],
  { concurrency, ...options }: PlanOptions,
): Promise<SpacePlan[]> {
  const { progress, clock } = context;
  const http = await context.http();
  const reportedLines = new Set<number>();
  progress.start('Reading the spaces');
  const history = await openHistory(context, http.baseUrl, documents, reportedLines);
  const ledger = await readOnce(history.ledger);
  const reader = new PlanReader(context, { http, history, ledger, retryUnknown: options.retryUnknown });
  const spaces = await reader.readSpaces(documents);
  let count = 0;
  const readings = await mapAll(documents, concurrency, async (document) => {
    const reading = await reader.readDocument(document, spaces);
    count += 1;
    progress.update(`Reading the spaces: ${count} of ${documents.length}`);
    return reading;
  });
  const agents = agentIds(readings);
  const wanted = documents.flatMap(({ manifest }) => manifest.agents.flatMap(({ cron = [] }) => cron));
  const opened =
    agents.size === 0
      ? undefined
      : await openJobCreator(context, http, wanted, { ensure: true, dryRun: true, warned: reportedLines, agents });
  const creator = opened && {
    ...opened,
    ...(wanted.length === 0 && { jobsOf: tolerateUnreadable(context, opened.jobsOf) }),
  };
  const deps: JobDeps = { creator, describe: createScheduleDescriber(), now: clock.now() };
  const plans: SpacePlan[] = [];
  for (const reading of readings) plans.push(planSpace(await readJobs(deps, reading)));
  return plans;
}
