import { EXIT } from '../../errors.ts';
import type { Batch } from '../../output/batch-result.ts';
import type { CiItem, Column } from '../../output/command-result.ts';
import type { SpacePlan } from '../../provision/plan.ts';
import { actionOf, planJson, planSummary, resultJson, resultSummary, statusOf } from './json.ts';
import { detailLines, errorText, outcomeOf, reportOf, type Tense, totalOf } from './report.ts';

function ciItem(plan: SpacePlan, tense: Tense): CiItem {
  const { document, error } = plan;
  return {
    name: document.manifest.external_space_id,
    detail: `${document.source}, ${outcomeOf(plan, tense)}`,
    source: document.source,
    failures: [error],
    lines: detailLines(plan, tense),
  };
}

/** How plan and provision show documents, and what they mean for the exit code. */
function batchOf(tense: Tense): Omit<Batch<SpacePlan>, 'json' | 'document'> {
  return {
    empty: 'There are no documents.',
    report: (plans) => reportOf(plans, tense),
    ci: (plan) => ciItem(plan, tense),
    item(plan) {
      const { document, error } = plan;
      const outcome = error !== undefined ? 'failed' : statusOf(plan) === 'skipped' ? 'skipped' : 'done';
      return { label: `${document.source} (${document.manifest.external_space_id})`, outcome, error };
    },
    messages(plans) {
      const blocked = plans.filter(({ error }) => error !== undefined).length;
      return {
        noun: 'documents',
        ...(tense === 'planned' && { message: `${blocked} of ${plans.length} documents cannot be carried out.` }),
        summary: totalOf(plans, tense),
        details: tense === 'planned' ? planSummary(plans) : resultSummary(plans),
        resumeHint: 'Run it again to continue: it reads what exists before it writes.',
        fixHint: 'Fix the cause and run it again: finished documents are not changed.',
      };
    },
  };
}

/** Documents as plan shows them. @param hasExitCode --detailed-exitcode, for a plan that can be carried out */
export function planBatch(hasExitCode: boolean): Batch<SpacePlan> {
  return {
    ...batchOf('planned'),
    json: planJson,
    document: (plans) => ({ spaces: plans.map(planJson), summary: planSummary(plans) }),
    // Pending changes come first: another plan, once they are applied, shows whether anything is left.
    ...(hasExitCode && {
      exitCode: (plans) => {
        const { create, change, differences } = planSummary(plans);
        if (create + change > 0) return EXIT.changesPending;
        return differences > 0 ? EXIT.differences : EXIT.ok;
      },
    }),
  };
}

/** Documents as provision shows them. */
export const RESULTS: Batch<SpacePlan> = {
  ...batchOf('created'),
  json: resultJson,
  document: (plans) => ({ results: plans.map(resultJson), summary: resultSummary(plans) }),
};

/** The columns of tsv. @param outcome the action of a plan, or the status of a result */
function columnsOf(outcome: (plan: SpacePlan) => string): readonly Column<SpacePlan>[] {
  return [
    { header: 'SOURCE', value: ({ document }) => document.source },
    { header: 'EXTERNAL ID', value: ({ document }) => document.manifest.external_space_id },
    { header: 'SPACE', value: ({ space_id }) => space_id },
    { header: 'STATUS', value: outcome },
    { header: 'NOTE', value: ({ error }) => (error === undefined ? null : errorText(error)) },
  ];
}

export const PLAN_COLUMNS = columnsOf(actionOf);
export const RESULT_COLUMNS = columnsOf(statusOf);
