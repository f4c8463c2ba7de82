import { PartnerctlError, PlanStaleError } from '../../errors.ts';
import type { ReportLine, TonedText } from '../../output/command-result.ts';
import { describeError } from '../../output/error-text.ts';
import type { Difference, Unmanaged } from '../../provision/differences.ts';
import type { SpacePlan, Step } from '../../provision/plan.ts';

/* What plan and provision show of a space, with the marks that the help of `plan` names. */

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

const TONES = { '+': 'good', '~': 'good', '!': 'warn', '?': 'warn', x: 'bad', '-': 'dim', '=': 'dim' } as const;

type Marker = keyof typeof TONES;

export function markedLine(indent: number, marker: Marker, text: TonedText): ReportLine {
  return { indent, marker, tone: TONES[marker], text };
}

export const detailLine = (marker: Marker, text: TonedText) => markedLine(4, marker, text);

export const RESOURCES = {
  create_space: 'space',
  install_agent: 'agent',
  setup_chat: 'chat',
  create_job: 'job',
} as const;

type Write = (text: string) => string;

function stepDetail(step: Step, write: Write): string {
  if (step.op === 'create_job') {
    const [next] = step.job?.next_runs ?? [];
    return `${step.job?.description}${next === undefined ? '' : `; next run ${next}`}`;
  }
  return Object.entries(step.detail)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? write(value) : value}`)
    .join(', ');
}

/**
 * @param write how to show a text of the manifest
 * @param end of several spaces that do the same, the name of the last one
 */
export function stepLine(step: Step, write: Write = (text) => text, end = ''): ReportLine {
  const subject = step.op === 'setup_chat' ? 'chat of' : RESOURCES[step.op];
  const owner = step.op === 'create_job' ? ` of ${JSON.stringify(write(step.agent.wanted.name))}` : '';
  const detail = stepDetail(step, write);
  return detailLine('+', [
    { text: `${subject} ${JSON.stringify(write(step.name))}${step.op === 'create_space' ? end : owner}` },
    { text: detail && `: ${detail}`, tone: 'plain' },
    { text: step.id === null ? '' : ` (${step.id})`, tone: 'dim' },
  ]);
}

/** What is shown as differing: the fields of one schedule are one. */
export function shownDifferences({ differences }: SpacePlan): readonly Difference[] {
  return differences.filter(({ in_words }, index) => !in_words || in_words !== differences[index - 1]?.in_words);
}

function differenceLine({ resource, name, agent, field, service, manifest, in_words }: Difference): ReportLine {
  const owner = agent === undefined ? '' : ` of ${JSON.stringify(agent)}`;
  const subject = resource === 'space' ? '' : `${resource === 'chat' ? ' of' : ''} ${JSON.stringify(name)}${owner}`;
  const verb = field === 'instructions' ? 'differ' : 'differs';
  // The instructions of a job are long, and others read a summary of CI.
  const isShown = field !== 'instructions' && service !== null && manifest !== null;
  const [before, after] = in_words
    ? [in_words.service, in_words.manifest]
    : [JSON.stringify(service), JSON.stringify(manifest)];
  return detailLine('!', [
    { text: `${resource}${subject} ${in_words ? 'schedule' : field} ${verb}` },
    { text: isShown ? `: ${before} at the service, ${after} in the manifest` : '', tone: 'plain' },
  ]);
}

function unmanagedLine({ resource, id, name, reason }: Unmanaged): ReportLine {
  const more = reason === undefined ? '' : `, and no manifest can describe it: ${reason}`;
  return detailLine('?', `${resource} ${JSON.stringify(name ?? '')} (${id}): not in the manifest${more}`);
}

export function detailLines(plan: SpacePlan, tense: Tense): ReportLine[] {
  return [
    ...plan.steps.filter(({ status }) => status === tense).map((step) => stepLine(step)),
    ...shownDifferences(plan).map(differenceLine),
    ...plan.unmanaged.map(unmanagedLine),
  ];
}

/** Why a document cannot be carried out, or was not; and what to do, which ends the output of provision. */
export function failureLines({ failures, document }: SpacePlan, tense: Tense): ReportLine[] {
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

export function headerLine(plan: SpacePlan, tense: Tense): ReportLine {
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
