import type { Context } from '../../cli/context.ts';
import { EXIT, type ExitCode, PartnerctlError } from '../../errors.ts';
import { type Batch, batchResult, endedAs } from '../../output/batch-result.ts';
import type { Column, ListResult, ReportLine, TonedText } from '../../output/command-result.ts';
import { describeError } from '../../output/error-text.ts';
import type { Difference } from '../../provision/differences.ts';
import type { SpacePlan, Step, Unmanaged } from '../../provision/plan.ts';
import { actionOf, countOf, planJson, planSummary, resultJson, resultSummary, statusOf } from './json.ts';

/* The steps of documents as people see them: one mark for one meaning, before and after; see the help of `plan`. */

/** Whether the steps are still to be done. */
type Tense = 'planned' | 'created';

const RESOURCES = { create_space: 'space', install_agent: 'agent', setup_chat: 'chat', create_job: 'job' } as const;

/** The words of people for actions and statuses, where they are not those of scripts. */
const WORDS: Readonly<Record<string, string>> = { none: 'unchanged', reused: 'changed', planned: 'valid' };

/** What will become of a document, or became of it, in a word for people. */
function outcomeOf(plan: SpacePlan, tense: Tense): string {
  const outcome = tense === 'planned' ? actionOf(plan) : statusOf(plan);
  return endedAs(WORDS[outcome] ?? outcome, plan.error);
}

function detailLine(marker: string, tone: ReportLine['tone'], text: TonedText): ReportLine {
  return { indent: 4, marker, tone, text };
}

/** What a step creates, without its name: the fields of the manifest; the schedule of a job in words. */
function stepDetail(step: Step): string {
  if (step.op === 'create_job') {
    const [next] = step.job?.next_runs ?? [];
    return `${step.job?.description}${next === undefined ? '' : `; next run ${next}`}`;
  }
  return Object.entries(step.detail)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

function stepLine(step: Step): ReportLine {
  const subject = step.op === 'setup_chat' ? 'chat of' : RESOURCES[step.op];
  const owner = step.op === 'create_job' ? ` of ${JSON.stringify(step.agent.wanted.name)}` : '';
  const detail = stepDetail(step);
  return detailLine('+', 'good', [
    { text: `${subject} ${JSON.stringify(step.name)}${owner}` },
    { text: detail && `: ${detail}`, tone: 'plain' },
    { text: step.id === null ? '' : ` (${step.id})`, tone: 'dim' },
  ]);
}

/** Without the instructions of a job: they are long, and others read a summary of CI. */
function differenceLine({ resource, name, field, service, manifest }: Difference): ReportLine {
  const subject = resource === 'space' ? '' : `${resource === 'chat' ? ' of' : ''} ${JSON.stringify(name)}`;
  const [before, after] = [service, manifest].map((each) => (each === null ? '(not shown)' : JSON.stringify(each)));
  return detailLine('!', 'warn', [
    { text: `${resource}${subject} ${field}: ` },
    { text: field === 'instructions' ? 'differ' : `${before} → ${after}`, tone: 'plain' },
  ]);
}

function unmanagedLine({ resource, id, name }: Unmanaged): ReportLine {
  return detailLine('?', 'warn', `${resource} ${JSON.stringify(name ?? '')} (${id}): not in the manifest`);
}

/** Why a document cannot be carried out, or was not; and what to do, which ends the output of provision. */
function errorLines(error: unknown, tense: Tense): ReportLine[] {
  if (error === undefined) return [];
  const hint = tense === 'planned' && error instanceof PartnerctlError ? error.info.hint : undefined;
  const hints = hint?.split('\n').map((text): ReportLine => ({ indent: 6, marker: 'hint:', tone: 'dim', text })) ?? [];
  return [detailLine('x', 'bad', describeError(error)), ...hints];
}

/** The lines below the one that names the space, without those of its error. */
function detailLines({ steps, differences, unmanaged }: SpacePlan, tense: Tense): ReportLine[] {
  return [
    ...steps.filter(({ status }) => status === tense).map(stepLine),
    ...differences.map(differenceLine),
    ...unmanaged.map(unmanagedLine),
  ];
}

type Sign = Pick<ReportLine, 'marker' | 'tone'>;

const SIGNS: Readonly<Record<string, Sign>> = {
  create: { marker: '+', tone: 'good' },
  created: { marker: '+', tone: 'good' },
  change: { marker: '~', tone: 'good' },
  changed: { marker: '~', tone: 'good' },
  blocked: { marker: 'x', tone: 'bad' },
  failed: { marker: 'x', tone: 'bad' },
  interrupted: { marker: 'x', tone: 'bad' },
  skipped: { marker: '-', tone: 'dim' },
};

function signOf({ differences, unmanaged }: SpacePlan, outcome: string): Sign {
  const sign = SIGNS[outcome];
  if (sign) return sign;
  if (differences.length > 0) return { marker: '!', tone: 'warn' };
  return unmanaged.length > 0 ? { marker: '?', tone: 'warn' } : { marker: '=', tone: 'dim' };
}

function headerLine(plan: SpacePlan, tense: Tense): ReportLine {
  const { document, space_id } = plan;
  const outcome = outcomeOf(plan, tense);
  const rest = [space_id, document.source, tense === 'created' && outcome].filter(Boolean);
  return {
    indent: 0,
    ...signOf(plan, outcome),
    text: [
      { text: document.manifest.external_space_id, tone: 'heading' },
      { text: rest.map((part) => `  ${part}`).join(''), tone: 'plain' },
    ],
  };
}

function counted(count: number, noun: string, rest = ''): string[] {
  return count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}${rest}`];
}

/** The outcomes that totals count. What is created or changed is counted as things. */
const COUNTED = ['blocked', 'failed', 'interrupted', 'skipped', 'unchanged', 'valid'];

/** What a plan or a run does in all: `Plan: 1 space, 2 agents, 1 job to create; 3 spaces unchanged.` */
function totalOf(plans: readonly SpacePlan[], tense: Tense): string {
  const steps = plans.flatMap((plan) => plan.steps.filter(({ status }) => status === tense));
  const things = Object.entries(RESOURCES).flatMap(([op, noun]) =>
    counted(steps.filter((step) => step.op === op).length, noun),
  );
  const outcomes = plans.map((plan) => outcomeOf(plan, tense));
  const parts = [
    ...(things.length > 0 ? [`${things.join(', ')} ${tense === 'planned' ? 'to create' : 'created'}`] : []),
    ...COUNTED.flatMap((word) => counted(outcomes.filter((each) => each === word).length, 'space', ` ${word}`)),
    ...counted(countOf(plans, 'differences'), 'difference', ' cannot be changed through the API'),
    ...counted(countOf(plans, 'unmanaged'), 'thing', ' not in the manifest'),
  ];
  return `${tense === 'planned' ? 'Plan' : 'Done'}: ${parts.join('; ')}.`;
}

/** For each space, in input order, what will happen or what was done. A plan only counts unchanged spaces. */
function reportOf(plans: readonly SpacePlan[], tense: Tense): ReportLine[] {
  const shown = plans.flatMap((plan) => {
    const details = [...detailLines(plan, tense), ...errorLines(plan.error, tense)];
    const isHidden = tense === 'planned' && details.length === 0;
    return isHidden ? [] : [headerLine(plan, tense), ...details];
  });
  return [...shown, { indent: 0, tone: 'heading', text: totalOf(plans, tense) }];
}

/** Pending changes come first: another plan, once they are applied, shows whether anything is left. */
function exitCodeOfPlan(plans: readonly SpacePlan[]): ExitCode {
  const { create, change, differences } = planSummary(plans);
  if (create + change > 0) return EXIT.changesPending;
  return differences > 0 ? EXIT.differences : EXIT.ok;
}

/** How plan and provision show documents, and what they mean for the exit code. */
function batchOf(tense: Tense, hasExitCode: boolean): Batch<SpacePlan> {
  const [name, json, counts] =
    tense === 'planned' ? ['spaces', planJson, planSummary] : ['results', resultJson, resultSummary];
  return {
    empty: 'There are no documents.',
    noun: 'documents',
    again: 'Run it again: finished documents are not changed.',
    counts,
    summary: (plans) => totalOf(plans, tense),
    json,
    document: (plans) => ({ [name]: plans.map(json), summary: counts(plans) }),
    report: (plans) => reportOf(plans, tense),
    item(plan) {
      const { document, error } = plan;
      const ended = statusOf(plan) === 'skipped' ? 'skipped' : 'done';
      const label = `${document.source} (${document.manifest.external_space_id})`;
      return { label, outcome: error === undefined ? ended : 'failed', error };
    },
    ci: (plan) => ({
      name: plan.document.manifest.external_space_id,
      detail: `${plan.document.source}, ${outcomeOf(plan, tense)}`,
      source: plan.document.source,
      failures: [plan.error],
      lines: detailLines(plan, tense),
    }),
    ...(hasExitCode && { exitCode: exitCodeOfPlan }),
  };
}

/**
 * Returns documents as plan and provision show them.
 * @param hasExitCode --detailed-exitcode, for a plan that can be carried out
 */
export function documentsResult(
  plans: AsyncIterable<SpacePlan> | Iterable<SpacePlan>,
  tense: Tense,
  { signals }: Context,
  hasExitCode = false,
): ListResult {
  // Of rows in tsv.
  const columns: readonly Column<SpacePlan>[] = [
    { header: 'SOURCE', value: ({ document }) => document.source },
    { header: 'EXTERNAL ID', value: ({ document }) => document.manifest.external_space_id },
    { header: 'SPACE', value: ({ space_id }) => space_id },
    { header: 'STATUS', value: tense === 'planned' ? actionOf : statusOf },
    { header: 'NOTE', value: ({ error }) => (error === undefined ? null : describeError(error)) },
  ];
  return batchResult(plans, columns, batchOf(tense, hasExitCode), signals);
}
