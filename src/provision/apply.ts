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
import { agentsOf, type SpacePlan } from './plan.ts';
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

/** Provisions the space of a plan, its agents, and their chats. Failures are in its progress. */
async function applySpace(deps: ProvisionDeps, progress: Progress, checkState: () => Promise<void>): Promise<void> {
  const { document, steps } = progress.report();
  try {
    if (steps.some(({ status }) => status === 'planned')) await checkState();
    await installMissing(deps, progress);
    await setUpChats(deps, progress);
  } catch (error) {
    const missing = progress.open('install_agent');
    const key = (missing[refusedIndex(error)] ?? missing[0])?.key ?? 'space';
    progress.fail({ error, source: sourceOf(document, key) });
  }
}

/** Records the space and its agents. It is a failure if only the report knows then what was created. */
async function recordSpace({ log, facts, http }: ProvisionDeps, progress: Progress): Promise<void> {
  const plan = progress.report();
  const { space_id, document } = plan;
  if (space_id === null) return;
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
  if (earlier && JSON.stringify(fact) === JSON.stringify(earlier)) return;
  try {
    await log.append([log.newRecord(SPACE_TYPE, { ...fact })]);
  } catch (error) {
    // What existed before can be found again.
    const isNew = plan.steps.some(({ status }) => status === 'created');
    if (isNew) progress.fail({ error: unrecordedError(space_id, error), source: document.source });
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
  const stopAfter = ({ failures }: SpacePlan): void => {
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
    const end = async (progress: Progress): Promise<void> => {
      await recordSpace(started, progress);
      const report = progress.report();
      stopAfter(report);
      if (report.failures.length === 0 && hasUnsettledJobs(report)) withJobs.push(progress);
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
        await applySpace(started, progress, checkState);
        stopAfter(progress.report());
        // Records share a write: the next space need not wait for the one of this.
        records.push(end(progress));
      }
    };
    const limit = pLimit(failFast ? 1 : deps.concurrency);
    await Promise.all(plans.map((plan) => limit(() => apply(plan))));
    await Promise.all(records);
    await createJobs(withJobs, deps.jobs, deps.createBeside, stop);
    for (const progress of withJobs) emit(progress.report());
  });
}
