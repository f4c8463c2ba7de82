import { DEFAULT_RETRIES } from '../config/global-flags.ts';
import type { CronContext } from '../cron/context.ts';
import { openJobs } from '../cron/ensure-jobs.ts';
import { UsageError } from '../errors.ts';
import { applyPlans } from './apply.ts';
import { inStep } from './failures.ts';
import { unmanagedJobs } from './jobs.ts';
import type { ManifestDocument } from './manifest.ts';
import { Observer } from './observe.ts';
import type { SpacePlan } from './plan.ts';
import { limitToPlanned, readPlan, writePlan } from './plan-file.ts';
import { type ProvisionDeps, planRun } from './plan-manifests.ts';
import { jobsByAgent } from './snapshot.ts';
import { readFacts } from './space-record.ts';

/* What `plan`, `provision`, and `apply` do, from checked manifests to plans and to what was done of them. */

export interface ProvisionContext extends Omit<CronContext, 'progress'> {
  readonly progress: CronContext['progress'] & { update(text: string): void };
  readonly random: () => number;
  readonly signals: { readonly interrupt: AbortSignal };
  readonly flags: { readonly retries?: number | undefined };
  notice(text: string): Promise<void>;
}

export interface FleetOptions {
  readonly concurrency: number;
  /** The spaces that may get a second agent or job, by external id. */
  readonly createBeside: readonly string[];
  readonly failFast?: boolean | undefined;
}

/** What the state will hold of a document: ids, and the names of jobs. */
function recordedTexts({ manifest }: ManifestDocument): readonly string[] {
  const { external_space_id, agents } = manifest;
  return [
    external_space_id,
    ...agents.flatMap(({ template_id = '', cron = [] }) => [template_id, ...cron.map(({ name }) => name)]),
  ];
}

/** @throws UsageError if --create-beside names a space that no manifest describes: it is consent for one, not for all */
async function openProvisioning(
  context: ProvisionContext,
  documents: readonly ManifestDocument[],
  { concurrency, createBeside }: FleetOptions,
  doing: string,
): Promise<ProvisionDeps> {
  const { clock, random, flags, signals, progress } = context;
  const ids = new Set(documents.map(({ manifest }) => manifest.external_space_id));
  const unknown = createBeside.find((id) => !ids.has(id));
  if (unknown !== undefined)
    throw new UsageError(`--create-beside ${unknown}: no manifest has this external_space_id.`, {
      hint: 'Give the external_space_id of one of the manifests. Nothing was sent.',
    });
  const http = await context.http();
  const log = await context.log();
  log.refuseSecrets(documents.flatMap(recordedTexts));
  progress.start('Reading the spaces');
  const facts = readFacts(await log.read(), http.baseUrl);
  let isReported = false;
  const onUnavailable = async (list: string, { message }: Error): Promise<void> => {
    if (isReported) return;
    isReported = true;
    await context.notice(`note: cannot read the list of ${list} (${message}) Only what the state recorded is known.`);
  };
  let done = 0;
  const onDocument = (): void => {
    done += 1;
    // All are planned, and then carried out.
    const [now, count] = done > documents.length ? [doing, done - documents.length] : ['Planning', done];
    progress.update(`${now}: ${count} of ${documents.length}`);
  };
  return {
    ...{ http, log, facts, clock, random, concurrency, onDocument },
    observer: new Observer({ http, documents, facts, onUnavailable }),
    createBeside: new Set(createBeside),
    jobs: openJobs(context, http, log),
    retries: flags.retries ?? DEFAULT_RETRIES,
    stop: signals.interrupt,
  };
}

/**
 * Plans what provisioning would do, and writes the plan to the file `out`.
 * @returns the plans, the spaces of the service that no manifest describes, and how many spaces the file has
 * @throws UsageError for `createBeside`; PartnerctlError if a list cannot be read now, or not be understood; the reason of
 *   an interruption; as `writePlan`
 */
export async function planFleet(
  context: ProvisionContext,
  documents: readonly ManifestDocument[],
  { out, ...options }: FleetOptions & { readonly out?: string | undefined },
) {
  const deps = await openProvisioning(context, documents, options, 'Planning');
  const { createBeside, observer } = deps;
  const planned = await planRun(deps, documents, false);
  deps.stop.throwIfAborted();
  if (!(await deps.log.inspect()).exists) await context.notice(`note: There is no state yet: ${deps.log.label}`);
  for (const { failures, steps, document } of planned) {
    const [failure] = steps[0]?.status === 'failed' ? failures : [];
    const what = `Cannot plan ${JSON.stringify(document.manifest.external_space_id)} (${document.source})`;
    if (failure) throw inStep(what, failure.error);
  }
  const hasAgents = planned.some(({ observed }) => observed.agents.length > 0);
  const listed = hasAgents ? await deps.jobs.lists.recent() : undefined;
  const jobs = listed && 'jobs' in listed ? jobsByAgent(listed.jobs.values()) : undefined;
  const plans = planned.map((plan) => {
    return { ...plan, unmanaged: [...plan.unmanaged, ...(jobs ? unmanagedJobs(plan, jobs) : [])] };
  });
  const about = { service: deps.http.baseUrl, createBeside };
  const written = out === undefined ? 0 : await writePlan(out, plans, jobs, about);
  return { plans, others: observer.others, written };
}

/**
 * Creates or reuses the spaces, and installs missing agents, chats, and jobs. All is planned before anything is sent.
 * @throws UsageError for `createBeside`; as `planRun`
 */
export async function provisionFleet(
  context: ProvisionContext,
  documents: readonly ManifestDocument[],
  options: FleetOptions,
): Promise<AsyncGenerator<SpacePlan>> {
  const deps = await openProvisioning(context, documents, options, 'Provisioning');
  return applyPlans(deps, await planRun(deps, documents, true), options.failFast);
}

/**
 * Carries out the file of a plan: exactly its steps.
 * @param input the manifests that the plan must have been made of, if they are given
 * @throws as `readPlan` and `planRun`
 */
export async function applyPlanFile(
  context: ProvisionContext,
  path: string,
  input: readonly ManifestDocument[] | undefined,
  options: Omit<FleetOptions, 'createBeside'>,
): Promise<AsyncGenerator<SpacePlan>> {
  const { spaces, create_beside, jobs_listed } = await readPlan(path, await context.baseUrl(), input);
  const documents = spaces.map(({ source, places, manifest }, index) => ({ source, places, manifest, index }));
  const ids = new Set(documents.map(({ manifest }) => manifest.external_space_id));
  const createBeside = create_beside.filter((id) => ids.has(id));
  const deps = await openProvisioning(context, documents, { ...options, createBeside }, 'Applying');
  const jobs = jobsByAgent(jobs_listed ? (await deps.jobs.lists.whole()).jobs.values() : []);
  const plans = (await planRun(deps, documents, true)).map((plan) => {
    const planned = spaces[plan.index];
    const isUnread = plan.steps.every(({ status }) => status === 'failed' || status === 'skipped');
    return planned && !isUnread ? limitToPlanned(plan, planned, jobs) : plan;
  });
  return applyPlans(deps, plans, options.failFast);
}
