import { DEFAULT_RETRIES } from '../config/service-flags.ts';
import { resolveBaseUrl } from '../config/settings.ts';
import type { ListedSpace } from '../contract/resources.ts';
import type { CronContext } from '../cron/context.ts';
import { openJobs } from '../cron/ensure-jobs.ts';
import { looseName } from '../cron/job.ts';
import { groupBy } from '../platform/group-by.ts';
import { readFacts } from '../state/space-record.ts';
import { applyPlans } from './apply.ts';
import { stopsProvisioning } from './failures.ts';
import { unmanagedJobs } from './jobs.ts';
import type { ManifestDocument } from './manifest.ts';
import { Observer } from './observe.ts';
import type { SpacePlan } from './plan.ts';
import { limitToPlanned, readPlan, writePlan } from './plan-file.ts';
import { type DocumentSelection, type ProvisionDeps, planRun, selectDocuments } from './plan-manifests.ts';
import { jobsByAgent } from './snapshot.ts';

/* What `plan`, `provision`, and `apply` do, from checked manifests to plans and to what was done of them. */

export interface ProvisionContext extends Omit<CronContext, 'progress'> {
  readonly progress: CronContext['progress'] & { update(text: string): void };
  readonly random: () => number;
  readonly prompts: CronContext['prompts'] & { confirmWrite(confirmed: string | undefined): Promise<void> };
  readonly signals: { readonly interrupt: AbortSignal };
  readonly flags: CronContext['flags'] & { readonly retries?: number | undefined };
}

export interface FleetOptions extends DocumentSelection {
  readonly concurrency: number;
}

/** How plans are carried out. */
interface ApplyOptions {
  /** The value of --confirm. It is asked for once all input is checked, and before anything is sent. */
  readonly confirm?: string | undefined;
  /** After so many failures, no further space is started. */
  readonly maxFailures?: number | undefined;
  /** Called with what will be sent, before that. */
  approve(plans: readonly SpacePlan[]): Promise<void>;
}

/** What the state will hold of a document: ids, and the names of jobs. */
function recordedTexts({ manifest }: ManifestDocument): readonly string[] {
  const { external_space_id, agents } = manifest;
  return [
    external_space_id,
    ...agents.flatMap(({ name, template_id = '', cron = [] }) => [name, template_id, ...cron.map((job) => job.name)]),
  ];
}

/** Opens what it takes to plan documents. */
async function openProvisioning(
  context: ProvisionContext,
  documents: readonly ManifestDocument[],
  { concurrency, createBeside }: FleetOptions,
): Promise<ProvisionDeps> {
  const { clock, random, flags, signals, progress } = context;
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
  return {
    ...{ http, log, facts, clock, random, concurrency },
    count(doing, total) {
      let done = 0;
      const show = () => progress.update(`${doing}: ${done} of ${total}`);
      show();
      return () => {
        done += 1;
        show();
      };
    },
    observer: new Observer({ http, documents, facts, onUnavailable }),
    createBeside: new Set(createBeside),
    jobs: openJobs(context, http, log),
    retries: flags.retries ?? DEFAULT_RETRIES,
    stop: signals.interrupt,
  };
}

/** Warns of a new space with the name of an existing one: somebody may have edited the external_space_id. */
async function warnOfNamesakes(
  { warn }: ProvisionContext,
  plans: readonly SpacePlan[],
  others: readonly ListedSpace[],
): Promise<void> {
  const existing = groupBy(others, ({ name }) => looseName(name ?? ''));
  const isNew = ({ space_id, failures }: SpacePlan) => space_id === null && failures.length === 0;
  const created = groupBy(plans.filter(isNew), ({ document }) => looseName(document.manifest.space.name));
  for (const [name, [plan, ...more]] of created) {
    const [space, ...alike] = existing.get(name) ?? [];
    // Where many have one name, it tells nothing.
    if (!plan || !space || more.length + alike.length > 0) continue;
    const { external_space_id: id, space: wanted } = plan.document.manifest;
    const known = [space.external_space_id, `(${space.space_id})`].filter(Boolean).join(' ');
    await warn(
      `${id} would be a second space named ${JSON.stringify(wanted.name)}: ${known} exists. For the same customer, keep the external_space_id: the API cannot rename or remove a space.`,
    );
  }
}

/**
 * Plans what provisioning would do, and writes the plan to the file `out`. A space that cannot be read stops no other.
 * @returns the plans, the spaces of the service that no manifest describes, and how many spaces the file has
 * @throws UsageError for `createBeside`, `only`, and `exclude`; PartnerctlError if a list cannot be read now, or not be
 *   understood; the reason of an interruption; as `writePlan`
 */
export async function planFleet(
  context: ProvisionContext,
  all: readonly ManifestDocument[],
  { out, ...options }: FleetOptions & { readonly out?: string | undefined },
) {
  const { documents, isSelected } = await selectDocuments(all, options);
  const deps = await openProvisioning(context, documents, options);
  const { createBeside, observer } = deps;
  const planned = await planRun(deps, documents, false);
  deps.stop.throwIfAborted();
  if (!(await deps.log.inspect()).exists) await context.notice(`note: There is no state yet: ${deps.log.label}`);
  const ended = planned.flatMap(({ failures }) => failures).find(({ error }) => stopsProvisioning(error));
  if (ended) throw ended.error;
  await warnOfNamesakes(context, planned, observer.others);
  const hasAgents = planned.some(({ observed }) => observed.agents.length > 0);
  const listed = hasAgents ? await deps.jobs.lists.recent() : undefined;
  const jobs = listed && 'jobs' in listed ? jobsByAgent(listed.jobs.values()) : undefined;
  const plans = planned.map((plan) => {
    return { ...plan, unmanaged: [...plan.unmanaged, ...(jobs ? unmanagedJobs(plan, jobs) : [])] };
  });
  const about = { service: deps.http.baseUrl, createBeside, input: all };
  const written = out === undefined ? 0 : await writePlan(out, plans, jobs, about);
  const others = observer.others.filter(({ external_space_id: id }) => isSelected(id));
  return { plans, others, written };
}

/**
 * Creates or reuses the spaces, and installs missing agents, chats, and jobs. All is planned before anything is sent.
 * @throws UsageError for `createBeside`, `only`, and `exclude`; as `planRun` and `approve`
 */
export async function provisionFleet(
  context: ProvisionContext,
  all: readonly ManifestDocument[],
  { maxFailures, approve, confirm, ...options }: FleetOptions & ApplyOptions,
): Promise<AsyncGenerator<SpacePlan>> {
  const { documents } = await selectDocuments(all, options);
  await context.prompts.confirmWrite(confirm);
  const deps = await openProvisioning(context, documents, options);
  const plans = await planRun(deps, documents, true);
  await warnOfNamesakes(context, plans, deps.observer.others);
  await approve(plans);
  return applyPlans(deps, plans, maxFailures);
}

function isOpen({ steps }: SpacePlan): boolean {
  return steps.some(({ status }) => status === 'planned');
}

/** Takes the first `limit` spaces that have something left to do, and those before them that cannot be done. */
function firstWave(left: readonly SpacePlan[], limit: number): readonly SpacePlan[] {
  const next = left.filter(isOpen)[limit];
  return next ? left.slice(0, left.indexOf(next)) : left;
}

/** Says how many of the spaces that had something left to do remain after the reports of a wave. */
async function* countRemaining(
  context: ProvisionContext,
  reports: AsyncIterable<SpacePlan>,
  left: number,
): AsyncGenerator<SpacePlan> {
  let remaining = left;
  for await (const report of reports) {
    if (report.steps.every(({ status }) => status === 'created' || status === 'unchanged')) remaining -= 1;
    yield report;
  }
  const text = remaining === 1 ? '1 space of the plan remains' : `${remaining} spaces of the plan remain`;
  if (remaining > 0) await context.notice(`${text}. To go on, repeat the command.`);
}

/**
 * Carries out the file of a plan: exactly its steps.
 * @param input the manifests that the plan must have been made of, if they are given
 * @param options `limit`: only the first so many spaces that have something left to do
 * @throws UsageError for `only` and `exclude`; as `readPlan`, `planRun`, and `approve`
 */
export async function applyPlanFile(
  context: ProvisionContext,
  path: string,
  input: readonly ManifestDocument[] | undefined,
  {
    maxFailures,
    approve,
    confirm,
    limit,
    ...others
  }: Omit<FleetOptions, 'createBeside'> & ApplyOptions & { readonly limit?: number | undefined },
): Promise<AsyncGenerator<SpacePlan>> {
  const { id, spaces, create_beside, jobs_listed } = await readPlan(path, resolveBaseUrl(context)?.value, input);
  const all = spaces.map(({ source, places, manifest }, index) => ({ source, places, manifest, index }));
  const ids = new Set(all.map(({ manifest }) => manifest.external_space_id));
  const createBeside = create_beside.filter((id) => ids.has(id));
  const options = { ...others, createBeside };
  const { documents } = await selectDocuments(all, options);
  await context.prompts.confirmWrite(confirm);
  const deps = await openProvisioning(context, documents, options);
  deps.log.setPlan(id);
  const jobs = jobsByAgent(jobs_listed ? (await deps.jobs.lists.whole()).jobs.values() : []);
  const plans = (await planRun(deps, documents, true)).map((plan) => {
    const planned = spaces[plan.index];
    const isUnread = plan.steps.every(({ status }) => status === 'failed' || status === 'skipped');
    return planned && !isUnread ? limitToPlanned(plan, planned, jobs) : plan;
  });
  if (limit === undefined) {
    await approve(plans);
    return applyPlans(deps, plans, maxFailures);
  }
  const left = plans.filter((plan) => isOpen(plan) || plan.failures.length > 0);
  const wave = firstWave(left, limit);
  await approve(wave);
  return countRemaining(context, applyPlans(deps, wave, maxFailures), left.length);
}
