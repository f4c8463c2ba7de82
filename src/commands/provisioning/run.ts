import type { Context } from '../../cli/context.ts';
import { createScheduleDescriber } from '../../cron/describe-schedule.ts';
import { batchResult } from '../../output/batch-result.ts';
import type { CommandResult } from '../../output/command-result.ts';
import { applyManifests } from '../../provision/apply.ts';
import { addUnmanagedJobs } from '../../provision/jobs.ts';
import type { ManifestDocument } from '../../provision/manifest.ts';
import type { SpacePlan } from '../../provision/plan.ts';
import { describeUnstarted, planManifests } from '../../provision/plan-manifests.ts';
import { openProvisioning, readListedJobs } from './open.ts';
import { PLAN_COLUMNS, planBatch, RESULT_COLUMNS, RESULTS } from './outcome.ts';

/** The options that plan and provision share. */
interface Options {
  readonly concurrency: number;
  readonly installRenamed?: boolean | undefined;
}

/** Plans what provisioning would do. @throws as `planManifests` */
export async function planDocuments(
  context: Context,
  documents: readonly ManifestDocument[],
  {
    concurrency,
    installRenamed = false,
    detailedExitcode = false,
  }: Options & { readonly detailedExitcode?: boolean | undefined },
): Promise<CommandResult> {
  const deps = await openProvisioning(context, documents, { isPlan: true });
  const plans = await planManifests(deps, documents, { concurrency, installRenamed });
  const hasAgents = plans.some(({ agents, unmanaged }) => unmanaged.length > 0 || agents.some((each) => each.agent_id));
  if (hasAgents) addUnmanagedJobs(plans, await readListedJobs(context, deps.lists));
  const indexed = plans.map((plan) => ({ ...plan, index: plan.document.index }));
  return batchResult(indexed, PLAN_COLUMNS, planBatch(detailedExitcode), context.signals);
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
  return batchResult(counted(), RESULT_COLUMNS, RESULTS, context.signals);
}

/** Creates or reuses the spaces, and installs missing agents, chats, and jobs. @throws as `openProvisioning` */
export async function provisionDocuments(
  context: Context,
  documents: readonly ManifestDocument[],
  { concurrency, installRenamed = false, failFast = false }: Options & { readonly failFast?: boolean | undefined },
): Promise<CommandResult> {
  const deps = await openProvisioning(context, documents, { isPlan: false });
  await deps.observer.prepare();
  const plans = applyManifests(deps, documents, { concurrency, installRenamed, failFast });
  return toResult(context, plans, documents.length);
}

/** Shows the documents as valid, without calling the service. */
export function checkDocuments(context: Context, documents: readonly ManifestDocument[]): CommandResult {
  async function* checked(): AsyncGenerator<SpacePlan> {
    const describe = createScheduleDescriber(context.clock);
    for (const document of documents) yield await describeUnstarted({ describe }, document, 'planned');
  }
  return toResult(context, checked(), documents.length);
}
