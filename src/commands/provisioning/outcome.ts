import { EXIT, InterruptedError } from '../../errors.ts';
import type { Batch } from '../../output/batch-result.ts';
import type { CiItem } from '../../output/command-result.ts';
import type { SpacePlan } from '../../provision/plan.ts';
import { actionOf, planJson, planSummary, resultJson, resultSummary, statusOf } from './json.ts';
import { countAll, detailLines, isIdle, reportOf, statusWord, type Tense, totalOf } from './report.ts';
import { planRows } from './rows.ts';

const HINTS = {
  resumeHint: 'Run it again to continue: it reads what exists before it writes.',
  fixHint: 'Fix the cause and run it again: finished documents are not changed.',
};

/** The error of a document is that of its jobs, if any failed. */
function ciItem(plan: SpacePlan, tense: Tense): CiItem {
  const { document, steps, error } = plan;
  const jobs = steps.flatMap((step) => (step.op === 'create_job' && step.job?.error ? [step.job.error] : []));
  const isJobs = jobs.some((each) => !(each instanceof InterruptedError));
  const action = isIdle(plan) ? 'nothing to do' : actionOf(plan);
  return {
    name: document.manifest.external_space_id,
    detail: `${document.source}, ${tense === 'planned' ? action : statusWord(plan)}`,
    source: document.source,
    failures: isJobs ? jobs : [error],
    lines: detailLines(plan, tense, true),
  };
}

function labelOf({ document: { source, manifest } }: SpacePlan): string {
  return `${source} (${manifest.external_space_id})`;
}

/** Documents as plan shows them. @param hasExitCode --detailed-exitcode, for a plan that can be carried out */
export function planBatch(hasExitCode: boolean): Batch<SpacePlan> {
  return {
    empty: 'There is nothing to plan.',
    json: planJson,
    tsvLines: planRows,
    document: (plans) => ({ spaces: plans.map(planJson), summary: planSummary(plans) }),
    report: (plans) => reportOf(plans, 'planned'),
    item: (plan) => ({
      label: labelOf(plan),
      outcome: plan.error === undefined ? 'done' : 'failed',
      error: plan.error,
    }),
    messages(plans) {
      const details = planSummary(plans);
      const message = `${details.blocked} of ${plans.length} documents cannot be carried out.`;
      return { noun: 'documents', message, summary: totalOf(plans, 'planned'), details, ...HINTS };
    },
    ci: (plan) => ciItem(plan, 'planned'),
    // Pending changes come first: another plan, once they are applied, shows whether anything is left.
    ...(hasExitCode && {
      exitCode: (plans) => {
        const { create, change, differences } = planSummary(plans);
        return create + change > 0 ? EXIT.changesPending : differences > 0 ? EXIT.differences : EXIT.ok;
      },
    }),
  };
}

/** Documents as provision shows them. */
export const RESULTS: Batch<SpacePlan> = {
  empty: 'There is nothing to provision.',
  json: resultJson,
  document: (plans) => ({ results: plans.map(resultJson), summary: resultSummary(plans) }),
  report: (plans) => reportOf(plans, 'created'),
  item(plan) {
    const outcome = plan.error !== undefined ? 'failed' : statusOf(plan) === 'skipped' ? 'skipped' : 'done';
    return { label: labelOf(plan), outcome, error: plan.error };
  },
  messages: (plans) => ({
    noun: 'documents',
    summary: `${countAll(plans, 'created')}.`,
    details: resultSummary(plans),
    ...HINTS,
  }),
  total: (plans) => totalOf(plans, 'created'),
  ci: (plan) => ciItem(plan, 'created'),
};
