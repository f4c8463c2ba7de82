import type { Context } from '../../cli/context.ts';
import { createScheduleDescriber } from '../../cron/schedule.ts';
import { batchResult } from '../../output/batch-result.ts';
import type { CommandResult } from '../../output/command-result.ts';
import type { ManifestDocument } from '../../provision/manifest.ts';
import { checkManifests } from '../../provision/plan-manifests.ts';
import { applyPlanFile, planFleet, provisionFleet, type RunOptions } from '../../provision/workflows.ts';
import { documentBatch, exitOfPlan } from './report.ts';

interface PlanOptions extends RunOptions {
  readonly detailedExitcode?: boolean | undefined;
  readonly out?: string | undefined;
  /** Whether to list what no manifest describes, and to count it in the exit code. */
  readonly unmanaged?: boolean | undefined;
  /** Whether the manifests are a directory, which is thought to describe all spaces. */
  readonly isFleet: boolean;
}

/** Plans what provisioning would do. @throws as `planFleet` */
export async function planDocuments(
  context: Context,
  documents: readonly ManifestDocument[],
  options: PlanOptions,
): Promise<CommandResult> {
  const { out, detailedExitcode, unmanaged = false } = options;
  const { plans, written, others } = await planFleet(context, documents, options);
  if (out !== undefined) {
    const next = written > 0 ? ` To carry it out: ${context.command(['apply', out])}` : '';
    await context.notice(`The plan in ${out} has steps for ${written} of ${plans.length} spaces.${next}`);
  }
  const shown = unmanaged || options.isFleet ? { spaces: others, areListed: unmanaged } : undefined;
  const result = batchResult(plans, documentBatch('planned', shown), context.signals);
  const listed = others.map(({ space_id, external_space_id = null, name = null }) => ({
    space_id,
    external_space_id,
    name,
  }));
  const document = () => Object.assign({}, result.document?.(), unmanaged && { unmanaged_spaces: listed });
  if (!detailedExitcode) return { ...result, document };
  const { code, why } = exitOfPlan(plans, unmanaged ? others : undefined);
  const isBlocked = plans.some(({ failures }) => failures.length > 0);
  if (code !== 0 && !isBlocked) await context.notice(`exit ${code}: ${why}`);
  return { ...result, document, exitCode: () => code };
}

/** Creates or reuses the spaces, and installs missing agents, chats, and jobs. @throws as `provisionFleet` */
export async function provisionDocuments(
  context: Context,
  documents: readonly ManifestDocument[],
  options: RunOptions,
): Promise<CommandResult> {
  const done = await provisionFleet(context, documents, options);
  return batchResult(done, documentBatch('created'), context.signals);
}

/** Carries out the file of a plan. @throws as `applyPlanFile` */
export async function applyPlan(
  context: Context,
  path: string,
  input: readonly ManifestDocument[] | undefined,
  options: Omit<RunOptions, 'createBeside'>,
): Promise<CommandResult> {
  const done = await applyPlanFile(context, path, input, options);
  return batchResult(done, documentBatch('created'), context.signals);
}

/** Shows the documents as valid, without calling the service. */
export async function checkDocuments(context: Context, documents: readonly ManifestDocument[]): Promise<CommandResult> {
  const plans = await checkManifests(documents, createScheduleDescriber(context.clock));
  return batchResult(plans, documentBatch('created'), context.signals);
}
