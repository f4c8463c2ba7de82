import pLimit from 'p-limit';
import type { DescribeSchedule } from '../cron/describe-schedule.ts';
import { inStep } from './failures.ts';
import { type CreateJobs, createPlannedJobs, describeJobs } from './jobs.ts';
import type { ManifestDocument } from './manifest.ts';
import type { Observer } from './observe.ts';
import { planSpace, type SpacePlan } from './plan.ts';

export interface PlanDeps {
  readonly observer: Observer;
  readonly describe: DescribeSchedule;
  readonly createJobs: CreateJobs;
}

export interface ProvisionOptions {
  /** How many documents at a time. */
  readonly concurrency: number;
  /** Whether an agent that was probably renamed in the manifest is installed beside the old one. */
  readonly installRenamed: boolean;
}

/** Observes the space of a document, and plans what there is to do. @throws as `Observer.observe` */
export async function planDocument(
  { observer, describe }: PlanDeps,
  document: ManifestDocument,
  options: Pick<ProvisionOptions, 'installRenamed'>,
): Promise<SpacePlan> {
  const plan = planSpace(document, await observer.observe(document), options);
  await describeJobs(plan, describe);
  return plan;
}

/** Describes a document of which nothing is started: the run was stopped, or only the manifest is checked. */
export async function describeUnstarted(
  { describe }: Pick<PlanDeps, 'describe'>,
  document: ManifestDocument,
  status: 'planned' | 'skipped' | 'failed',
  error?: unknown,
): Promise<SpacePlan> {
  const nothing = { space: undefined, agents: undefined, fact: undefined };
  const plan = planSpace(document, nothing, { installRenamed: true });
  for (const step of plan.steps) step.status = status;
  await describeJobs(plan, describe);
  return { ...plan, ...(error !== undefined && { error }) };
}

/**
 * Plans the documents, in order. Sends only reads, and writes nothing.
 * @throws PartnerctlError if a list cannot be read now, or not be understood
 */
export async function planManifests(
  deps: PlanDeps,
  documents: readonly ManifestDocument[],
  options: ProvisionOptions,
): Promise<readonly SpacePlan[]> {
  await deps.observer.prepare();
  const limit = pLimit(options.concurrency);
  const plan = (document: ManifestDocument): Promise<SpacePlan> =>
    planDocument(deps, document, options).catch((error: unknown) => {
      const { source, manifest } = document;
      throw inStep(`Cannot plan ${JSON.stringify(manifest.external_space_id)} (${source})`, error);
    });
  const plans = await Promise.all(documents.map((document) => limit(() => plan(document))));
  await createPlannedJobs(plans, deps.createJobs);
  return plans;
}
