import type { DescribeSchedule } from '../cron/result.ts';
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
export async function look(
  { observer, describe, clock }: Pick<PlanDeps, 'observer' | 'describe' | 'clock'>,
  document: ManifestDocument,
  options: Pick<ProvisionOptions, 'installRenamed'>,
): Promise<SpacePlan> {
  const plan = planSpace(document, await observer.observe(document), options);
  return await describeJobs(plan, describe, clock.now());
}

function nameDocument({ source, manifest }: ManifestDocument): string {
  return `${JSON.stringify(manifest.external_space_id)} (${source})`;
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
  const plans: (SpacePlan | { readonly thrown: unknown; readonly document: ManifestDocument })[] = [];
  await deps.observer.prepare();
  const looks = mapConcurrent(documents, options.concurrency, (document) =>
    look(deps, document, options).catch((thrown: unknown) => ({ thrown, document })),
  );
  for await (const plan of looks) {
    plans.push(plan);
    onPlanned(plans.length);
  }
  const inOrder = plans.map((plan) => {
    if ('thrown' in plan) throw inStep(`Cannot plan ${nameDocument(plan.document)}`, plan.thrown);
    return plan;
  });
  inOrder.sort((one, other) => one.document.index - other.document.index);
  return await createPlannedJobs(inOrder, deps.createJobs, false);
}

/** The documents as only checked: everything is planned, as nothing is known. */
export async function listChecked(
  documents: readonly ManifestDocument[],
  describe: DescribeSchedule,
  now: number,
): Promise<readonly SpacePlan[]> {
  return await Promise.all(
    documents.map((document) => describeJobs(unstartedPlan(document, 'planned'), describe, now)),
  );
}
