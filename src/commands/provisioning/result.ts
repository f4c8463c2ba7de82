import type { Context } from '../../cli/context.ts';
import type { ListedSpace } from '../../contract/resources.ts';
import { EXIT, type ExitCode } from '../../errors.ts';
import { type Batch, batchResult, countByStatus } from '../../output/batch-result.ts';
import type { BatchItem, CommandResult } from '../../output/command-result.ts';
import { describeError, errorJson } from '../../output/error-text.ts';
import type { SpacePlan } from '../../provision/plan.ts';
import type { planFleet } from '../../provision/workflows.ts';
import { cronResultJson } from '../cron/shared/job-batch.ts';
import { type Entry, foldPlans } from './fold.ts';
import { counted, countedDifferences, countedUnmanaged, entryLines, nameOf, reportOf, totalOf } from './report.ts';
import { detailLines, OUTCOMES, outcomeOf, type Tense, wordOf } from './space-lines.ts';

/* What plan, provision, and apply return: JSON for scripts, the report for people, and the exit code. */

function summaryJson(plans: readonly SpacePlan[], tense: Tense): Readonly<Record<string, number>> {
  const outcomes = plans.map((plan) => ({ status: outcomeOf(plan, tense) }));
  const counts = countByStatus<string>(outcomes, OUTCOMES[tense]);
  if (tense === 'created') return counts;
  const count = (list: 'differences' | 'unmanaged') => plans.flatMap((plan): readonly object[] => plan[list]).length;
  return { ...counts, differences: count('differences'), unmanaged: count('unmanaged') };
}

function agentsJson({ steps }: SpacePlan): readonly object[] {
  return steps.flatMap((step) => {
    if (step.op !== 'install_agent') return [];
    const { agent_id, source_id, wanted } = step.agent;
    return [{ agent_id, name: wanted.name, template_id: wanted.template_id ?? null, status: step.status, source_id }];
  });
}

function jobsJson({ steps }: SpacePlan): readonly object[] {
  return steps.flatMap((step) => {
    if (step.op !== 'create_job' || !step.job) return [];
    // Nothing of a job was started: it is as its step.
    const status = ['planned', 'skipped'].includes(step.job.status) ? step.status : step.job.status;
    return [{ ...cronResultJson(step.job), status }];
  });
}

function actionsJson({ steps }: SpacePlan): readonly object[] {
  const planned = steps.filter(({ status }) => status === 'planned');
  return planned.map((step) => {
    const { op, name, detail } = step;
    return { op, name, ...(op === 'create_job' && { agent: step.agent.wanted.name }), ...detail };
  });
}

function documentJson(plan: SpacePlan, tense: Tense): object {
  const { document, space_id, differences, unmanaged, failures } = plan;
  const { source, manifest } = document;
  const [first] = failures;
  const outcome = outcomeOf(plan, tense);
  return {
    ...{ source, external_space_id: manifest.external_space_id, space_id },
    ...(tense === 'planned'
      ? { action: outcome, actions: actionsJson(plan), differences, unmanaged }
      : { status: outcome, agents: agentsJson(plan), cron: jobsJson(plan), differences }),
    ...(first && {
      error: errorJson(first.error),
      errors: failures.map(({ error, source: place }) => ({ source: place, ...errorJson(error) })),
    }),
  };
}

function itemOf(plan: SpacePlan, tense: Tense): BatchItem {
  const { document, failures } = plan;
  const { source, manifest } = document;
  const isUnfinished = outcomeOf(plan, tense) === 'skipped';
  const lines = () => detailLines(plan, tense);
  const item = { name: manifest.external_space_id, source, status: wordOf(plan, tense), isUnfinished, lines };
  return { ...item, error: failures[0]?.error, failures };
}

function entryItem(entry: Entry): BatchItem {
  const item = { ...itemOf(entry.plan, 'planned'), name: nameOf(entry), lines: () => entryLines(entry) };
  return entry.count === 1 ? item : { ...item, source: undefined };
}

/** Documents as plan (`planned`) and provision (`created`) show them. */
function documentBatch(tense: Tense, shown: Parameters<typeof reportOf>[2] = {}): Batch<SpacePlan> {
  const { unmanaged } = shown;
  return {
    // Rows for -o tsv.
    columns: [
      { header: 'SOURCE', value: ({ document }) => document.source },
      { header: 'EXTERNAL ID', value: ({ document }) => document.manifest.external_space_id },
      { header: 'SPACE', value: ({ space_id }) => space_id },
      { header: 'STATUS', value: (plan) => outcomeOf(plan, tense) },
      { header: 'NOTE', value: ({ failures: [first] }) => (first ? describeError(first.error) : null) },
    ],
    noun: 'documents',
    again: tense === 'planned' ? undefined : 'Run it again: finished documents are not changed.',
    item: (plan) => itemOf(plan, tense),
    json: (plan) => documentJson(plan, tense),
    documentField: tense === 'planned' ? 'spaces' : 'results',
    counts: (plans) => ({
      ...summaryJson(plans, tense),
      ...(unmanaged && { unmanaged_spaces: unmanaged.spaces.length }),
    }),
    summary: (plans) => totalOf(plans, tense),
    report: (plans) => reportOf(plans, tense, shown),
  };
}

/** What was done of documents, or, of those that were only checked, that they are valid. */
export function runResult(
  plans: AsyncIterable<SpacePlan> | Iterable<SpacePlan>,
  { signals }: Pick<Context, 'signals'>,
): CommandResult {
  return batchResult(plans, documentBatch('created'), signals);
}

/**
 * The exit code of a plan with --detailed-exitcode, and why. What is pending comes first: the next plan shows what is
 * left.
 * @param unmanaged the spaces that no manifest describes, if what is unmanaged counts
 */
function exitOfPlan(
  plans: readonly SpacePlan[],
  unmanaged: readonly ListedSpace[] | undefined,
): { readonly code: ExitCode; readonly why: string } {
  const { create = 0, change = 0 } = summaryJson(plans, 'planned');
  if (create + change > 0)
    return { code: EXIT.changesPending, why: `changes are pending in ${counted(create + change, 'space')}` };
  const left = [
    ...countedDifferences(plans),
    ...(unmanaged ? [...countedUnmanaged(plans), ...counted(unmanaged.length, 'space', ' in no manifest')] : []),
  ];
  return { code: left.length > 0 ? EXIT.differences : EXIT.ok, why: left.join('; ') };
}

/** What `plan` prints, and with which code it exits; says on stderr what is in its file, and why it exits so. */
export async function planResult(
  context: Context,
  { plans, others, written }: Awaited<ReturnType<typeof planFleet>>,
  options: {
    readonly isFleet: boolean;
    readonly unmanaged?: true;
    readonly detailedExitcode?: true;
    readonly out?: string;
  },
): Promise<CommandResult> {
  const { isFleet, unmanaged = false, detailedExitcode, out } = options;
  if (out !== undefined) {
    const next = written > 0 ? ` To carry it out: ${context.command(['apply', out])}` : '';
    await context.notice(`The plan in ${out} has steps for ${written} of ${plans.length} spaces.${next}`);
  }
  const shown = unmanaged || isFleet ? { spaces: others, areListed: unmanaged } : undefined;
  const batch = documentBatch('planned', { unmanaged: shown, isWide: context.flags.wide });
  const ci = () => foldPlans(plans, context.flags.wide).map(entryItem);
  const result = { ...batchResult(plans, batch, context.signals), ci };
  const unmanaged_spaces = others.map(({ space_id, external_space_id = null, name = null }) => {
    return { space_id, external_space_id, name };
  });
  const document = () => Object.assign({}, result.document?.(), unmanaged && { unmanaged_spaces });
  if (!detailedExitcode) return { ...result, document };
  const { code, why } = exitOfPlan(plans, unmanaged ? others : undefined);
  const isBlocked = plans.some(({ failures }) => failures.length > 0);
  if (code !== 0 && !isBlocked) await context.notice(`exit ${code}: ${why}`);
  return { ...result, document, exitCode: () => code };
}
