import type { Context } from '../../cli/context.ts';
import { warnIfUnshared } from '../../cli/warn-unshared.ts';
import { createScheduleDescriber } from '../../cron/cron-result.ts';
import { batchResult } from '../../output/batch-result.ts';
import { type CommandResult, listResult } from '../../output/command-result.ts';
import { applyManifests } from '../../provision/apply.ts';
import { withUnmanagedJobs } from '../../provision/jobs.ts';
import { cronJobsOf, type ManifestDocument } from '../../provision/manifest.ts';
import type { SpacePlan } from '../../provision/plan.ts';
import { listChecked, type ProvisionOptions, planManifests } from '../../provision/plan-manifests.ts';
import { planJson, planSummary, resultJson, resultSummary } from './json.ts';
import { openProvisioning, readListedJobs } from './open.ts';
import { ciView, detailedExitCode, failureOf } from './outcome.ts';
import { planReport, planTotal, resultReport, resultTotal } from './report.ts';
import { COLUMNS, planRows } from './rows.ts';

/** The options of plan, and those that provision shares with it. */
interface PlanOptions {
  readonly concurrency: number;
  readonly installRenamed?: boolean | undefined;
  readonly detailedExitcode?: boolean | undefined;
}

function toProvisionOptions({ concurrency, installRenamed = false }: PlanOptions): ProvisionOptions {
  return { concurrency, installRenamed };
}

/** Plans what provisioning would do. @throws as `planManifests` */
export async function planDocuments(
  context: Context,
  documents: readonly ManifestDocument[],
  { detailedExitcode, ...options }: PlanOptions,
): Promise<CommandResult> {
  const deps = await openProvisioning(context, documents, { isPlan: true });
  const planned = await planManifests(deps, documents, toProvisionOptions(options), (count) =>
    context.progress.update(`Reading the spaces: ${count} of ${documents.length}`),
  );
  const hasAgents = planned.some(
    ({ agents, unmanaged }) => unmanaged.length > 0 || agents.some((each) => each.agent_id),
  );
  const listed = hasAgents ? await readListedJobs(context) : [];
  const plans = planned.map((plan) => withUnmanagedJobs(plan, listed));
  return listResult(plans, [], {
    empty: 'There is nothing to plan.',
    json: planJson,
    tsvLines: planRows,
    ci: ciView('planned'),
    report: () => planReport(plans),
    summary: () => planTotal(plans),
    document: () => ({ spaces: plans.map(planJson), summary: planSummary(plans) }),
    failure: () => failureOf(plans, 'planned'),
    ...(detailedExitcode && { exitCode: () => detailedExitCode(plans) }),
  });
}

function toResult(context: Context, plans: AsyncIterable<SpacePlan>, total: number): CommandResult {
  async function* counted(): AsyncGenerator<SpacePlan & { readonly index: number }> {
    let count = 0;
    for await (const plan of plans) {
      count += 1;
      context.progress.update(`Provisioning: ${count} of ${total}`);
      yield { ...plan, index: plan.document.index };
    }
  }
  return batchResult(counted(), COLUMNS, {
    empty: 'There is nothing to provision.',
    json: resultJson,
    document: (all) => ({ results: all.map(resultJson), summary: resultSummary(all) }),
    report: resultReport,
    ci: ciView('created'),
    summary: resultTotal,
    failure: (all) => failureOf(all, 'created', context.signals.interrupt.reason),
  });
}

/** Creates or reuses the spaces, and installs missing agents, chats, and jobs. @throws as `openProvisioning` */
export async function provisionDocuments(
  context: Context,
  documents: readonly ManifestDocument[],
  { failFast = false, ...options }: PlanOptions & { readonly failFast?: boolean | undefined },
): Promise<CommandResult> {
  const hasJobs = documents.some(({ manifest }) => manifest.agents.some((agent) => cronJobsOf(agent).length > 0));
  if (hasJobs) await warnIfUnshared(context, 'jobs');
  const deps = await openProvisioning(context, documents, { isPlan: false });
  await deps.observer.prepare();
  return toResult(
    context,
    applyManifests(deps, documents, { ...toProvisionOptions(options), failFast }),
    documents.length,
  );
}

/** Shows the documents as valid, without calling the service. */
export function checkDocuments(context: Context, documents: readonly ManifestDocument[]): CommandResult {
  async function* checked(): AsyncGenerator<SpacePlan> {
    yield* await listChecked(documents, createScheduleDescriber(), context.clock.now());
  }
  return toResult(context, checked(), documents.length);
}
