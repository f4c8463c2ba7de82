import pLimit from 'p-limit';
import type { Http } from '../api/http.ts';
import type { JobEngine } from '../cron/ensure-jobs.ts';
import { createScheduleDescriber } from '../cron/schedule.ts';
import { UsageError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../state/log.ts';
import type { SpaceFact } from '../state/space-record.ts';
import { stopsProvisioning } from './failures.ts';
import { judgeJobs } from './jobs.ts';
import type { ManifestDocument } from './manifest.ts';
import type { Observer } from './observe.ts';
import { planSpace, type SpacePlan, type StepStatus } from './plan.ts';
import { type Selection, spaceSelector } from './select.ts';

/** What planning and provisioning need, and how they were asked to work. */
export interface ProvisionDeps {
  readonly http: Http;
  readonly log: Log;
  /** What the state has about the spaces, by external id. */
  readonly facts: ReadonlyMap<string, SpaceFact>;
  readonly observer: Observer;
  readonly jobs: JobEngine;
  readonly clock: Clock;
  readonly random: () => number;
  /** Shows a count, of so many. @returns what to call for each */
  readonly count: (doing: string, total: number) => () => void;
  /** Aborts when nothing more is to be started, as on the first Ctrl-C. */
  readonly stop: AbortSignal;
  readonly retries: number;
  readonly concurrency: number;
  /** The spaces, by external id, that may get a second agent or job beside one that seems to be it. */
  readonly createBeside: ReadonlySet<string>;
}

/** Observes the space of a document, and plans what there is to do. @throws as `Observer.observe` */
export async function observeAndPlan(
  { observer, createBeside }: ProvisionDeps,
  document: ManifestDocument,
): Promise<SpacePlan> {
  return planSpace(document, await observer.observe(document), createBeside.has(document.manifest.external_space_id));
}

/** A document of which nothing is known, as it is before its space exists. */
function planUnknown(document: ManifestDocument): SpacePlan {
  return planSpace(document, { space: undefined, agents: undefined, fact: undefined }, true);
}

/** A plan of which nothing is started, all of whose steps have this status. */
export function withStatus(plan: SpacePlan, status: StepStatus, error?: unknown): SpacePlan {
  const failures = error === undefined ? [] : [{ error, source: plan.document.source }];
  return { ...plan, steps: plan.steps.map((step) => ({ ...step, status })), failures };
}

/** Which documents, and what they may do. */
export interface DocumentSelection extends Selection {
  /** The spaces that may get a second agent or job, by external id. */
  readonly createBeside: readonly string[];
}

/**
 * @returns the documents of the selection, and whether a space, by its external id, is in it
 * @throws UsageError for a glob that matches nothing, or if --create-beside names a space that no manifest describes: it
 *   is consent for one, not for all
 */
export async function selectDocuments(
  all: readonly ManifestDocument[],
  { createBeside, ...selection }: DocumentSelection,
) {
  const ids = all.map(({ manifest }) => manifest.external_space_id);
  const unknown = createBeside.find((id) => !ids.includes(id));
  if (unknown !== undefined)
    throw new UsageError(`--create-beside ${unknown}: no manifest has this external_space_id.`, {
      hint: 'Give the external_space_id of one of the manifests. Nothing was sent.',
    });
  const isSelected = await spaceSelector(ids, selection);
  return { documents: all.filter(({ manifest }) => isSelected(manifest.external_space_id)), isSelected };
}

/** Describes valid documents without a service. @throws as `selectDocuments` */
export async function checkManifests(
  all: readonly ManifestDocument[],
  selection: DocumentSelection,
  clock: Clock,
): Promise<readonly SpacePlan[]> {
  const { documents } = await selectDocuments(all, selection);
  const plans = await judgeJobs(documents.map(planUnknown), createScheduleDescriber(clock));
  return plans.map((plan) => withStatus(plan, 'planned'));
}

/**
 * Plans the documents, in order, before anything is sent. One whose space cannot be read has failed, beside the others.
 * @param willRun whether the plans are carried out afterwards
 * @throws PartnerctlError if the list of spaces cannot be read now, or not be understood
 */
export async function planRun(
  deps: ProvisionDeps,
  documents: readonly ManifestDocument[],
  willRun: boolean,
): Promise<readonly SpacePlan[]> {
  await deps.observer.prepare();
  let isEnded = false;
  const plan = async (document: ManifestDocument): Promise<SpacePlan> => {
    if (isEnded || deps.stop.aborted) return withStatus(planUnknown(document), 'skipped');
    try {
      return await observeAndPlan(deps, document);
    } catch (error) {
      isEnded ||= stopsProvisioning(error);
      return withStatus(planUnknown(document), 'failed', error);
    }
  };
  const limit = pLimit(deps.concurrency);
  const onPlanned = deps.count('Planning', documents.length);
  const plans = await Promise.all(documents.map((document) => limit(() => plan(document).finally(onPlanned))));
  return judgeJobs(plans, deps.jobs.describe, { engine: deps.jobs, consent: deps.createBeside, willRun });
}
