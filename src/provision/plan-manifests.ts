import pLimit from 'p-limit';
import type { Http } from '../api/http.ts';
import type { DescribeSchedule } from '../cron/schedule.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../state/log.ts';
import { inStep } from './failures.ts';
import { type CreateJobs, createPlannedJobs, describeJobs } from './jobs.ts';
import type { ManifestDocument } from './manifest.ts';
import type { Observer } from './observe.ts';
import { blockPlan, planSpace, type SpacePlan } from './plan.ts';
import type { SpaceFact } from './space-record.ts';

/** What planning and provisioning need, and how they were asked to work. */
export interface ProvisionDeps {
  readonly http: Http;
  readonly log: Log;
  /** What the state has about the spaces, by external id. */
  readonly facts: ReadonlyMap<string, SpaceFact>;
  readonly observer: Observer;
  readonly describe: DescribeSchedule;
  readonly createJobs: CreateJobs;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called after each document that was planned or applied. */
  readonly onDocument: () => void;
  /** Aborts when nothing more is to be started, as on the first Ctrl-C. */
  readonly stop: AbortSignal;
  readonly retries: number;
  readonly concurrency: number;
  /** Whether an agent that was probably renamed in the manifest is installed beside the old one. */
  readonly installRenamed: boolean;
  /** Returns the error for a space whose plan was made earlier, and no longer holds. */
  readonly findStale?: ((plan: SpacePlan) => Error | undefined) | undefined;
}

/** Observes the space of a document, and plans what there is to do. @throws as `Observer.observe` */
export async function planDocument(deps: ProvisionDeps, document: ManifestDocument): Promise<SpacePlan> {
  const plan = planSpace(document, await deps.observer.observe(document), deps);
  const stale = deps.findStale?.(plan);
  if (stale) blockPlan(plan, stale);
  await describeJobs(plan, deps.describe);
  return plan;
}

/** Describes a document of which nothing is started: the run was stopped, or only the manifest is checked. */
export async function describeUnstarted(
  deps: Pick<ProvisionDeps, 'describe'>,
  document: ManifestDocument,
  status: 'planned' | 'skipped' | 'failed',
  error?: unknown,
): Promise<SpacePlan> {
  const nothing = { space: undefined, agents: undefined, fact: undefined };
  const plan = planSpace(document, nothing, { installRenamed: true });
  for (const step of plan.steps) step.status = status;
  await describeJobs(plan, deps.describe);
  return { ...plan, error };
}

/**
 * Plans the documents, in order. Sends only reads, and writes nothing.
 * @throws PartnerctlError if a list cannot be read now, or not be understood
 */
export async function planManifests(
  deps: ProvisionDeps,
  documents: readonly ManifestDocument[],
): Promise<readonly SpacePlan[]> {
  await deps.observer.prepare();
  const limit = pLimit(deps.concurrency);
  const plan = (document: ManifestDocument): Promise<SpacePlan> =>
    planDocument(deps, document).catch((error: unknown) => {
      const { source, manifest } = document;
      throw inStep(`Cannot plan ${JSON.stringify(manifest.external_space_id)} (${source})`, error);
    });
  const plans = await Promise.all(documents.map((document) => limit(() => plan(document).finally(deps.onDocument))));
  await createPlannedJobs(plans, deps.createJobs);
  return plans;
}
