import { failedItem, failureLines } from '../../cli/ci/findings.ts';
import { EXIT, type ExitCode, InterruptedError, type PartnerctlError } from '../../errors.ts';
import { batchFailure } from '../../output/batch-failure.ts';
import type { CiView, Finding } from '../../output/command-result.ts';
import type { SpacePlan } from '../../provision/plan.ts';
import { actionOf, planSummary, resultSummary, statusOf } from './json.ts';
import { detailLines, isIdle, planTotal, resultCounts, statusWord, type Tense } from './report.ts';

/**
 * The failures of a document. The reason of a job's failure is left out, because it may quote the instructions. The error of
 * the document is that of its jobs, if any failed.
 */
function failuresOf({ document: { source }, steps, error }: SpacePlan): Finding[] {
  const jobs = steps.flatMap((step) => (step.op === 'create_job' ? failedItem(step.job?.error, source, true) : []));
  return jobs.length > 0 ? jobs : failedItem(error, source);
}

/** What a CI system shows. */
export function ciView(tense: Tense): CiView<SpacePlan> {
  return {
    findings: (plan) =>
      failuresOf(plan).map((failure) => ({
        ...failure,
        message: `${plan.document.manifest.external_space_id}: ${failure.message}`,
      })),
    section: (plan) => {
      const { document, error } = plan;
      const action = isIdle(plan) ? 'nothing to do' : actionOf(plan);
      return {
        name: document.manifest.external_space_id,
        detail: `${document.source}, ${tense === 'planned' ? action : statusWord(plan)}`,
        isFailure: error !== undefined && !(error instanceof InterruptedError),
        lines: [...failuresOf(plan).flatMap(failureLines), ...detailLines(plan, tense, true)],
      };
    },
  };
}

/**
 * The error of a run in which some documents failed or were skipped, or of a plan in which some are blocked.
 * @param interruption the reason of the interrupt signal, if it fired
 */
export function failureOf(
  plans: readonly SpacePlan[],
  tense: Tense,
  interruption?: unknown,
): PartnerctlError | undefined {
  const isPlan = tense === 'planned';
  const items = plans.map((plan) => {
    const { source, manifest } = plan.document;
    const isSkipped = !isPlan && statusOf(plan) === 'skipped';
    const outcome = plan.error !== undefined ? 'failed' : isSkipped ? 'skipped' : 'done';
    return { label: `${source} (${manifest.external_space_id})`, outcome, error: plan.error } as const;
  });
  const blocked = items.filter(({ outcome }) => outcome === 'failed').length;
  const messages = {
    noun: 'documents',
    ...(isPlan && { message: `${blocked} of ${items.length} documents cannot be carried out.` }),
    summary: isPlan ? planTotal(plans) : `${resultCounts(plans)}.`,
    details: isPlan ? planSummary(plans) : resultSummary(plans),
    resumeHint: 'Run it again to continue: it reads what exists before it writes.',
    fixHint: 'Fix the cause and run it again: finished documents are not changed.',
  };
  return batchFailure(items, messages, interruption);
}

/**
 * The exit code of --detailed-exitcode for a plan that can be carried out. Pending changes come first: once they are
 * applied, another plan shows whether anything is left that provisioning cannot change.
 */
export function detailedExitCode(plans: readonly SpacePlan[]): ExitCode {
  const { create, change, differences } = planSummary(plans);
  if (create + change > 0) return EXIT.changesPending;
  return differences > 0 ? EXIT.differences : EXIT.ok;
}
