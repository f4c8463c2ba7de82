import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { isJsonObject } from '../contract/json.ts';
import { isNotShown } from '../cron/job.ts';
import { PartnerctlError } from '../errors.ts';
import { emitted } from '../platform/emitted.ts';
import { stopsProvisioning, unrecordedError } from './failures.ts';
import { installMissing, setUpChats } from './install.ts';
import { createJobs, hasUnsettledJobs } from './jobs.ts';
import { sourceOf } from './manifest.ts';
import { agentsOf, type Failure, type SpacePlan } from './plan.ts';
import { type ProvisionDeps, withStatus } from './plan-manifests.ts';
import { Progress } from './progress.ts';
import { agentKey, SPACE_TYPE, type SpaceFact } from './space-record.ts';

/** Which of the agents of a request was refused: the service names the field as `agents[1].template_id`. */
function refusedIndex(error: unknown): number {
  const details = error instanceof PartnerctlError && isJsonObject(error.info.details) ? error.info.details : {};
  const fields: readonly unknown[] = Array.isArray(details.fields) ? details.fields : [];
  const paths = fields.map((field) => (isJsonObject(field) ? String(field.path) : ''));
  const [index = '0'] = paths.flatMap((path) => /\bagents[[./](\d+)/.exec(path)?.[1] ?? []);
  return Number(index);
}

/** Provisions the space of a plan, its agents, and their chats. @returns the failure that ended it */
async function applySpace(
  deps: ProvisionDeps,
  progress: Progress,
  checkState: () => Promise<void>,
): Promise<Failure | undefined> {
  const { document, steps } = progress.report();
  try {
    if (steps.some(({ status }) => status === 'planned')) await checkState();
    await installMissing(deps, progress);
  } catch (error) {
    const missing = progress.open('install_agent');
    return { error, source: sourceOf(document, (missing[refusedIndex(error)] ?? missing[0])?.key ?? 'space') };
  }
  return await setUpChats(deps, progress);
}

/** Records the space and its agents. @returns the failure of the state, if only the report knows what was created */
async function recordSpace({ log, facts, http }: ProvisionDeps, plan: SpacePlan): Promise<Failure | undefined> {
  const { space_id, document } = plan;
  if (space_id === null) return undefined;
  const { external_space_id } = document.manifest;
  const earlier = facts.get(external_space_id);
  const current = agentsOf(plan).flatMap(({ wanted, agent_id, source_id }) => {
    const { template_id } = wanted;
    return agent_id === null || isNotShown(template_id)
      ? []
      : [{ key: agentKey(wanted), agent_id, template_id, source_id }];
  });
  const ids = new Set(current.map(({ agent_id }) => agent_id));
  const older = earlier?.space_id === space_id ? earlier.agents.filter(({ agent_id }) => !ids.has(agent_id)) : [];
  const fact: SpaceFact = { origin: http.baseUrl, external_space_id, space_id, agents: [...older, ...current] };
  if (earlier && JSON.stringify(fact) === JSON.stringify(earlier)) return undefined;
  try {
    await log.append([log.newRecord(SPACE_TYPE, { ...fact })]);
    return undefined;
  } catch (error) {
    // What existed before can be found again.
    const isNew = plan.steps.some(({ status }) => status === 'created');
    return isNew ? { error: unrecordedError(space_id, error), source: document.source } : undefined;
  }
}

/** Creates the jobs of the applied spaces. What ended the run is also the failure of spaces with jobs left out. */
async function createAllJobs({ stop, jobs, createBeside }: ProvisionDeps, all: readonly Progress[]): Promise<void> {
  let ended: unknown;
  try {
    stop.throwIfAborted();
    await createJobs(all, jobs, createBeside);
    ended = stop.reason ?? all.flatMap((progress) => progress.report().failures)[0]?.error;
  } catch (error) {
    ended = error;
  }
  for (const progress of all) {
    const { failures, steps, document } = progress.report();
    const left = steps.find(({ op, status }) => op === 'create_job' && (status === 'planned' || status === 'skipped'));
    if (left && failures.length === 0) progress.fail({ error: ended, source: sourceOf(document, left.key) });
  }
}

/**
 * Carries out plans: creates or reuses the spaces, installs missing agents, sets up chats, and then creates the jobs of
 * all. Yields what was done for each when nothing more is to be done; failures are in it. For a plan with a failure,
 * nothing is sent. Runs to the end even if nobody reads: a space without its jobs would be half done.
 */
export function applyPlans(
  { stop: interrupt, ...deps }: ProvisionDeps,
  plans: readonly SpacePlan[],
  failFast = false,
): AsyncGenerator<SpacePlan> {
  const stopper = new AbortController();
  const stop = AbortSignal.any([interrupt, stopper.signal]);
  // Node warns about more than ten listeners, and every wait of a document adds one.
  setMaxListeners(0, stop);
  const started = { ...deps, stop };
  const stopAfter = ({ failures }: Pick<SpacePlan, 'failures'>): void => {
    const stopping = failures.find(({ error }) => failFast || stopsProvisioning(error));
    if (stopping) stopper.abort(stopping.error);
  };
  let check: Promise<void> | undefined;
  const checkState = (): Promise<void> => {
    check ??= deps.log.check();
    return check;
  };
  return emitted(async (emit) => {
    const withJobs: Progress[] = [];
    const records: Promise<void>[] = [];
    const end = async (progress: Progress, failure: Failure | undefined): Promise<void> => {
      if (failure) progress.fail(failure);
      const unrecorded = await recordSpace(started, progress.report());
      if (unrecorded) progress.fail(unrecorded);
      const report = progress.report();
      stopAfter(report);
      if (report.failures.length === 0 && hasUnsettledJobs(progress)) withJobs.push(progress);
      else emit(report);
    };
    const apply = async (plan: SpacePlan): Promise<void> => {
      deps.onDocument();
      const isUnstarted = plan.steps.every(({ status }) => status === 'skipped');
      if (plan.failures.length > 0 || isUnstarted) {
        stopAfter(plan);
        emit(plan);
      } else if (stop.aborted) emit(withStatus(plan, 'skipped'));
      else {
        const progress = new Progress(plan);
        const failure = await applySpace(started, progress, checkState);
        if (failure) stopAfter({ failures: [failure] });
        // Records share a write: the next space need not wait for the one of this.
        records.push(end(progress, failure));
      }
    };
    const limit = pLimit(failFast ? 1 : deps.concurrency);
    await Promise.all(plans.map((plan) => limit(() => apply(plan))));
    await Promise.all(records);
    await createAllJobs(started, withJobs);
    for (const progress of withJobs) emit(progress.report());
  });
}
