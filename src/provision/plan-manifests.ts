import type { DescribeSchedule } from '../cron/describe-schedule.ts';
import type { Clock } from '../platform/clock.ts';
import { mapConcurrent } from '../platform/emitted.ts';
import { inStep } from './failures.ts';
import { type CreateJobs, createPlannedJobs, describeJobs } from './jobs.ts';
import type { ManifestDocument } from './manifest.ts';
import type { Observer } from './observe.ts';
import { planSpace, type SpacePlan, unstartedPlan } from './plan.ts';

export interface PlanDeps {
  readonly observer: Observer;
  readonly describe: DescribeSchedule;
  readonly clock: Clock;
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
  { observer, describe, clock }: PlanDeps,
  document: ManifestDocument,
  options: Pick<ProvisionOptions, 'installRenamed'>,
): Promise<SpacePlan> {
  const plan = planSpace(document, await observer.observe(document), options);
  await describeJobs(plan, describe, clock.now());
  return plan;
}

/** A plan of which nothing is started: see `unstartedPlan`. */
export async function describeUnstarted(
  { describe, clock }: Pick<PlanDeps, 'describe' | 'clock'>,
  ...args: Parameters<typeof unstartedPlan>
): Promise<SpacePlan> {
  const plan = unstartedPlan(...args);
  await describeJobs(plan, describe, clock.now());
  return plan;
}

/**
 * Plans the documents, in order. Sends only reads, and writes nothing.
 * @throws PartnerctlError if a list cannot be read now, or not be understood
 */
export async function planManifests(
  deps: PlanDeps,
  documents: readonly ManifestDocument[],
  options: ProvisionOptions,
  onPlanned: (count: number) => void,
): Promise<readonly SpacePlan[]> {
  await deps.observer.prepare();
  const plans: SpacePlan[] = [];
  const planned = mapConcurrent(documents, options.concurrency, (document) =>
    planDocument(deps, document, options).catch((error: unknown) => ({
      ...unstartedPlan(document, 'failed'),
      thrown: error,
    })),
  );
  for await (const plan of planned) onPlanned(plans.push(plan));
  plans.sort((one, other) => one.document.index - other.document.index);
  for (const plan of plans) {
    if (!('thrown' in plan)) continue;
    const { source, manifest } = plan.document;
    throw inStep(`Cannot plan ${JSON.stringify(manifest.external_space_id)} (${source})`, plan.thrown);
  }
  await createPlannedJobs(plans, deps.createJobs);
  return plans;
}
