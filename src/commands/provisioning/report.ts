import type { ListedSpace } from '../../contract/resources.ts';
import { PartnerctlError, PlanStaleError } from '../../errors.ts';
import type { ReportLine, TonedText } from '../../output/command-result.ts';
import { describeError } from '../../output/error-text.ts';
import type { Difference, Unmanaged } from '../../provision/differences.ts';
import type { SpacePlan, Step } from '../../provision/plan.ts';

/* Documents as plan and provision show them to people, with the marks that the help of `plan` names. */

/** Which steps are shown: those that are to be done, or those that were done. */
export type Tense = 'planned' | 'created';

/** What will become of a document, or became of it, in the order of the summary. */
export const OUTCOMES = {
  planned: { create: 0, change: 0, none: 0, blocked: 0 },
  created: { created: 0, reused: 0, unchanged: 0, failed: 0, skipped: 0 },
} as const;

type Outcome = keyof (typeof OUTCOMES)['planned'] | keyof (typeof OUTCOMES)['created'] | 'planned' | 'stale';

/** @returns `planned` for a document that provision only checked, `stale` for one whose plan no longer holds */
export function outcomeOf({ steps, failures }: SpacePlan, tense: Tense): Outcome {
  const isPlan = tense === 'planned';
  const isAny = (wanted: Step['status']) => steps.some(({ status }) => status === wanted);
  if (failures.some(({ error }) => error instanceof PlanStaleError)) return 'stale';
  if (failures.length > 0) return isPlan ? 'blocked' : 'failed';
  if (!isPlan && isAny('planned')) return 'planned';
  if (steps[0]?.status === tense) return isPlan ? 'create' : 'created';
  if (isAny(tense)) return isPlan ? 'change' : 'reused';
  if (isAny('skipped')) return 'skipped';
  return isPlan ? 'none' : 'unchanged';
}

export function countOf(plans: readonly SpacePlan[], list: 'differences' | 'unmanaged'): number {
  return plans.reduce((total, plan) => total + plan[list].length, 0);
}

const TONES = { '+': 'good', '~': 'good', '!': 'warn', '?': 'warn', x: 'bad', '-': 'dim', '=': 'dim' } as const;

type Marker = keyof typeof TONES;

function markedLine(indent: number, marker: Marker, text: TonedText): ReportLine {
  return { indent, marker, tone: TONES[marker], text };
}

const detailLine = (marker: Marker, text: TonedText) => markedLine(4, marker, text);

const RESOURCES = { create_space: 'space', install_agent: 'agent', setup_chat: 'chat', create_job: 'job' } as const;

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
  return detailLine('+', [
    { text: `${subject} ${JSON.stringify(step.name)}${owner}` },
    { text: detail && `: ${detail}`, tone: 'plain' },
    { text: step.id === null ? '' : ` (${step.id})`, tone: 'dim' },
  ]);
}

/** Without the instructions of a job: they are long, and others read a summary of CI. */
function differenceLine({ resource, name, agent, field, service, manifest }: Difference): ReportLine {
  const owner = agent === undefined ? '' : ` of ${JSON.stringify(agent)}`;
  const subject = resource === 'space' ? '' : `${resource === 'chat' ? ' of' : ''} ${JSON.stringify(name)}${owner}`;
  const isShown = field !== 'instructions' && service !== null && manifest !== null;
  const values = `: ${JSON.stringify(service)} at the service, ${JSON.stringify(manifest)} in the manifest`;
  return detailLine('!', [
    { text: `${resource}${subject} ${field} ${field === 'instructions' ? 'differ' : 'differs'}` },
    { text: isShown ? values : '', tone: 'plain' },
  ]);
}

function unmanagedLine({ resource, id, name, reason }: Unmanaged): ReportLine {
  const more = reason === undefined ? '' : `, and no manifest can describe it: ${reason}`;
  return detailLine('?', `${resource} ${JSON.stringify(name ?? '')} (${id}): not in the manifest${more}`);
}

/** The spaces of the service that no manifest describes: listed with --unmanaged, otherwise counted. */
export interface UnmanagedSpaces {
  readonly spaces: readonly ListedSpace[];
  readonly areListed: boolean;
}

function unmanagedSpaceLines({ spaces, areListed }: UnmanagedSpaces): ReportLine[] {
  const noun = spaces.length === 1 ? 'space of the service is' : 'spaces of the service are';
  if (spaces.length === 0) return [];
  if (!areListed) return [{ indent: 0, text: `${spaces.length} ${noun} in no manifest: --unmanaged lists them.` }];
  return spaces.map(({ space_id, name, external_space_id }) =>
    markedLine(0, '?', `space ${JSON.stringify(name ?? '')} (${space_id})  ${external_space_id ?? ''}: in no manifest`),
  );
}

export function detailLines({ steps, differences, unmanaged }: SpacePlan, tense: Tense): ReportLine[] {
  return [
    ...steps.filter(({ status }) => status === tense).map(stepLine),
    ...differences.map(differenceLine),
    ...unmanaged.map(unmanagedLine),
  ];
}

/** Why a document cannot be carried out, or was not; and what to do, which ends the output of provision. */
function failureLines({ failures, document }: SpacePlan, tense: Tense): ReportLine[] {
  return failures.flatMap(({ error, source }) => {
    const place = source === document.source ? '' : `${source}: `;
    const hint = tense === 'planned' && error instanceof PartnerctlError ? error.info.hint : undefined;
    const hints =
      hint?.split('\n').map((text): ReportLine => ({ indent: 6, marker: 'hint:', tone: 'dim', text })) ?? [];
    return [detailLine('x', `${place}${describeError(error)}`), ...hints];
  });
}

/** The words of people for outcomes, where they are not those of scripts. */
const WORDS: Readonly<Partial<Record<Outcome, string>>> = {
  ...{ change: 'to change', none: 'unchanged', reused: 'changed', planned: 'valid' },
};

export function wordOf(plan: SpacePlan, tense: Tense): string {
  const outcome = outcomeOf(plan, tense);
  const isAny = (...wanted: Step['status'][]) => plan.steps.some(({ status }) => wanted.includes(status));
  // Nothing was sent for the space: a person decides first.
  if (outcome === 'failed' && isAny('blocked') && !isAny('created', 'failed')) return 'blocked';
  return WORDS[outcome] ?? outcome;
}

const MARKERS: Readonly<Partial<Record<Outcome, Marker>>> = {
  ...{ create: '+', created: '+', change: '~', reused: '~' },
  ...{ blocked: 'x', failed: 'x', stale: 'x', skipped: '-' },
};

function headerLine(plan: SpacePlan, tense: Tense): ReportLine {
  const { document, space_id, differences, unmanaged } = plan;
  const others = differences.length > 0 ? '!' : unmanaged.length > 0 ? '?' : '=';
  const word = wordOf(plan, tense);
  const ending = tense === 'created' && `${word}${word === 'blocked' ? ': nothing was sent' : ''}`;
  const rest = [space_id, document.source, ending].filter(Boolean);
  return markedLine(0, MARKERS[outcomeOf(plan, tense)] ?? others, [
    { text: document.manifest.external_space_id, tone: 'heading' },
    { text: rest.map((part) => `  ${part}`).join(''), tone: 'plain' },
  ]);
}

export function counted(count: number, noun: string, rest = ''): string[] {
  return count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}${rest}`];
}

export function countedDifferences(plans: readonly SpacePlan[]): string[] {
  return counted(countOf(plans, 'differences'), 'difference', ' cannot be changed through the API');
}

export function countedUnmanaged(plans: readonly SpacePlan[]): string[] {
  return counted(countOf(plans, 'unmanaged'), 'thing', ' not in the manifest');
}

/** The outcomes that totals count. A space that is created is counted among the things. */
const COUNTED = ['to change', 'changed', 'blocked', 'failed', 'stale', 'skipped', 'unchanged', 'valid'];

/** What a plan or a run does in all: `Plan: 1 space, 2 agents, 1 job to create; 3 spaces unchanged.` */
export function totalOf(plans: readonly SpacePlan[], tense: Tense): string {
  const steps = plans.flatMap(({ steps, failures }) =>
    // A space that failed after it was created counts as failed.
    steps.filter(({ op, status }) => status === tense && (op !== 'create_space' || failures.length === 0)),
  );
  const things = Object.entries(RESOURCES).flatMap(([op, noun]) =>
    counted(steps.filter((step) => step.op === op).length, noun),
  );
  const words = plans.map((plan) => wordOf(plan, tense));
  const parts = [
    ...(things.length > 0 ? [`${things.join(', ')} ${tense === 'planned' ? 'to create' : 'created'}`] : []),
    ...COUNTED.flatMap((word) => counted(words.filter((each) => each === word).length, 'space', ` ${word}`)),
    ...countedDifferences(plans),
    ...countedUnmanaged(plans),
  ];
  return `${tense === 'planned' ? 'Plan' : 'Done'}: ${parts.join('; ') || 'nothing to do'}.`;
}

/**
 * For each space, in input order, what will happen or what was done. A plan only counts unchanged spaces.
 * @param unmanaged the spaces that no manifest describes
 */
export function reportOf(plans: readonly SpacePlan[], tense: Tense, unmanaged?: UnmanagedSpaces): ReportLine[] {
  const shown = plans.flatMap((plan) => {
    const details = [...detailLines(plan, tense), ...failureLines(plan, tense)];
    const isHidden = tense === 'planned' && details.length === 0;
    return isHidden ? [] : [headerLine(plan, tense), ...details];
  });
  const total: ReportLine = { indent: 0, tone: 'heading', text: totalOf(plans, tense) };
  return [...shown, total, ...(unmanaged ? unmanagedSpaceLines(unmanaged) : [])];
}
