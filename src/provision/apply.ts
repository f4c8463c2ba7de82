import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { isNotShown } from '../cron/job.ts';
import { emitted } from '../platform/emitted.ts';
import { stopsProvisioning, unrecordedError } from './failures.ts';
import { installMissing, setUpChats } from './install.ts';
import { createPlannedJobs } from './jobs.ts';
import type { ManifestDocument } from './manifest.ts';
import { endPlan, plannedSteps, type SpacePlan } from './plan.ts';
import { describeUnstarted, type ProvisionDeps, planDocument } from './plan-manifests.ts';
import { agentKey, SPACE_TYPE, type SpaceFact } from './space-record.ts';

/** Provisions the space of a document, its agents, and their chats. Failures are in the plan. */
async function applyDocument(
  deps: ProvisionDeps,
  document: ManifestDocument,
  checkState: () => Promise<void>,
): Promise<SpacePlan> {
  if (deps.stop.aborted) return await describeUnstarted(deps, document, 'skipped');
  let plan: SpacePlan;
  try {
    plan = await planDocument(deps, document);
  } catch (error) {
    return await describeUnstarted(deps, document, 'failed', error);
  }
  if (plan.error !== undefined) return plan;
  try {
    if (plan.steps.some(({ status }) => status === 'planned')) await checkState();
    await installMissing(deps, plan);
    await setUpChats(deps, plan);
  } catch (error) {
    endPlan(plan, error);
  }
  return plan;
}

async function recordSpace({ log, facts, http }: ProvisionDeps, plan: SpacePlan): Promise<void> {
  const { space_id, agents, document } = plan;
  if (space_id === null) return;
  const { external_space_id } = document.manifest;
  const earlier = facts.get(external_space_id);
  const current = agents.flatMap(({ wanted, agent_id, source_id }) => {
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
    if (plan.steps.some(({ status }) => status === 'created')) endPlan(plan, unrecordedError(space_id, error));
  }
}

/** Creates the jobs of the applied documents. What ended the run is also the error of documents with jobs left out. */
async function createJobs({ stop, createJobs: create }: ProvisionDeps, plans: readonly SpacePlan[]): Promise<void> {
  let failure: unknown;
  try {
    stop.throwIfAborted();
    await createPlannedJobs(plans, create);
    failure = stop.reason ?? plans.find(({ error }) => error !== undefined)?.error;
  } catch (error) {
    failure = error;
  }
  const isOpen = ({ steps }: SpacePlan) =>
    steps.some(({ op, status }) => op === 'create_job' && (status === 'planned' || status === 'skipped'));
  for (const plan of plans) if (plan.error === undefined && isOpen(plan)) endPlan(plan, failure);
}

/**
 * Creates or reuses the spaces, installs missing agents, sets up chats, and then creates the jobs of all documents.
 * Yields the plan of each document when nothing more is to be done for it; failures are in it. Runs to the end even if
 * nobody reads the plans: a space without its jobs would be half done.
 */
export function applyManifests(
  { stop: interrupt, ...deps }: ProvisionDeps,
  documents: readonly ManifestDocument[],
  { failFast }: { readonly failFast: boolean },
): AsyncGenerator<SpacePlan> {
  const stopper = new AbortController();
  const stop = AbortSignal.any([interrupt, stopper.signal]);
  // Node warns about more than ten listeners, and every wait of a document adds one.
  setMaxListeners(0, stop);
  const started = { ...deps, stop };
  const stopAfter = ({ error }: SpacePlan): void => {
    if (error !== undefined && (failFast || stopsProvisioning(error))) stopper.abort(error);
  };
  let check: Promise<void> | undefined;
  const checkState = (): Promise<void> => {
    check ??= deps.log.check();
    return check;
  };
  return emitted(async (emit) => {
    const withJobs: SpacePlan[] = [];
    const records: Promise<void>[] = [];
    const record = async (plan: SpacePlan): Promise<void> => {
      await recordSpace(started, plan);
      stopAfter(plan);
      if (plan.error === undefined && plannedSteps(plan, 'create_job').length > 0) withJobs.push(plan);
      else emit(plan);
    };
    const apply = async (document: ManifestDocument): Promise<void> => {
      const plan = await applyDocument(started, document, checkState);
      deps.onDocument();
      stopAfter(plan);
      // Records share a write: the next space need not wait for the one of this.
      records.push(record(plan));
    };
    const limit = pLimit(failFast ? 1 : deps.concurrency);
    await Promise.all(documents.map((document) => limit(() => apply(document))));
    await Promise.all(records);
    await createJobs(started, withJobs);
    for (const plan of withJobs) emit(plan);
  });
}
