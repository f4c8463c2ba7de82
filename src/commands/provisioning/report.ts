import type { ListedSpace } from '../../contract/resources.ts';
import { PartnerctlError } from '../../errors.ts';
import type { ReportLine } from '../../output/command-result.ts';
import { describeError } from '../../output/error-text.ts';
import type { SpacePlan } from '../../provision/plan.ts';
import { asWritten, type Entry, foldPlans, isSpecial } from './fold.ts';
import {
  detailLine,
  detailLines,
  failureLines,
  headerLine,
  markedLine,
  RESOURCES,
  shownDifferences,
  stepLine,
  type Tense,
  wordOf,
} from './space-lines.ts';

/* Plans and runs as people see them. */

export function counted(count: number, noun: string, rest = ''): string[] {
  return count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}${rest}`];
}

export function countedDifferences(plans: readonly SpacePlan[]): string[] {
  return counted(plans.flatMap(shownDifferences).length, 'difference', ' cannot be changed through the API');
}

export function countedUnmanaged(plans: readonly SpacePlan[]): string[] {
  return counted(plans.flatMap(({ unmanaged }) => unmanaged).length, 'thing', ' not in the manifest');
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

/** The spaces of the service that no manifest describes: listed with --unmanaged, otherwise counted. */
export interface UnmanagedSpaces {
  readonly spaces: readonly ListedSpace[];
  readonly areListed: boolean;
}

function unmanagedSpaceLines({ spaces, areListed }: UnmanagedSpaces): ReportLine[] {
  const noun = spaces.length === 1 ? 'space of the service is' : 'spaces of the service are';
  if (spaces.length === 0) return [];
  if (!areListed) return [{ indent: 0, text: `${spaces.length} ${noun} in no manifest: --unmanaged lists them.` }];
  return spaces.map(({ space_id, name, external_space_id }) => {
    const subject = [`space ${JSON.stringify(name ?? '')} (${space_id})`, external_space_id].filter(Boolean);
    return markedLine(0, '?', `${subject.join('  ')}: in no manifest`);
  });
}

/** The spaces of an entry: `288 spaces: c-001 … c-300`. */
export function nameOf({ plan, last, count }: Entry): string {
  const [first, end] = [plan, last].map(({ document }) => document.manifest.external_space_id);
  return count === 1 ? `${first}` : `${count} spaces: ${first} … ${end}`;
}

/** What will happen to the spaces of an entry, each of which has a name of its own. */
export function entryLines({ plan, last, count }: Entry): readonly ReportLine[] {
  if (count === 1) return detailLines(plan, 'planned');
  const [write, end] = [asWritten(plan), asWritten(last)(last.document.manifest.space.name)];
  const others = write(plan.document.manifest.space.name) === end ? '' : ` … ${JSON.stringify(end)}`;
  return plan.steps.filter(({ status }) => status === 'planned').map((step) => stepLine(step, write, others));
}

const partsOf = ({ text }: ReportLine) => (typeof text === 'string' ? [{ text }] : text);

/** A plan of more spaces, and of more lines at 80 columns, shows those that are special on a line each. */
const SCREEN = 40;

function rowsOf(line: ReportLine): number {
  return Math.ceil((line.indent + partsOf(line).reduce((length, { text }) => length + text.length, 0)) / 76);
}

/** Shows a special space with the first of what is special about it. */
function briefLine(plan: SpacePlan): ReportLine {
  const messages = plan.failures.map(({ error }) => {
    return detailLine('x', error instanceof PartnerctlError ? error.message : describeError(error));
  });
  const [first] = [...messages, ...detailLines({ ...plan, steps: [] }, 'planned')];
  const others = messages.length + detailLines(plan, 'planned').length - 1;
  const more = others > 0 ? ` (+${others})` : '';
  const header = headerLine(plan, 'planned');
  const text = [...partsOf(header).slice(0, 1), { text: '  ' }, ...(first ? partsOf(first) : []), { text: more }];
  return { ...header, text };
}

/** Groups what is alike; what is special comes last. Only counts unchanged spaces. @param isWide whether to show each */
function plannedLines(plans: readonly SpacePlan[], isWide: boolean): readonly ReportLine[] {
  const blocks = foldPlans(plans, isWide).flatMap((entry) => {
    const { plan, count } = entry;
    // What is unmanaged is often what a blocked thing was before.
    const details = [...failureLines(plan, 'planned'), ...entryLines(entry)];
    const header = headerLine(plan, 'planned');
    const named = count === 1 ? header : { ...header, text: [{ text: nameOf(entry), tone: 'heading' as const }] };
    return details.length === 0 ? [] : [{ plan, lines: [named, ...details] }];
  });
  const rows = blocks.flatMap(({ lines }) => lines).reduce((total, line) => total + rowsOf(line), 0);
  if (isWide || plans.length <= SCREEN || rows < SCREEN) return blocks.flatMap(({ lines }) => lines);
  const text = 'Only the first problem of each of these spaces is shown: --wide shows all.';
  return [
    ...blocks.flatMap(({ plan, lines }) => (isSpecial(plan) ? [briefLine(plan)] : lines)),
    { indent: 0, tone: 'dim', text },
  ];
}

/** What a person can do about differences, once for all. */
const SETTLE: ReportLine = {
  ...{ indent: 0, marker: 'hint:', tone: 'dim' },
  text: 'To settle a difference, make the manifest say what the service has, by hand or with `partnerctl export --out <dir> --update`; or name it in `ignore:`.',
};

/**
 * What will happen to the spaces, or, for each in input order, what was done.
 * @param unmanaged the spaces that no manifest describes
 * @param isWide whether a plan shows each space by itself
 */
export function reportOf(
  plans: readonly SpacePlan[],
  tense: Tense,
  { unmanaged, isWide = false }: { readonly unmanaged?: UnmanagedSpaces | undefined; readonly isWide?: boolean } = {},
): ReportLine[] {
  const shown =
    tense === 'planned'
      ? plannedLines(plans, isWide)
      : plans.flatMap((plan) => [headerLine(plan, tense), ...detailLines(plan, tense), ...failureLines(plan, tense)]);
  const total: ReportLine = { indent: 0, tone: 'heading', text: totalOf(plans, tense) };
  const isDifferent = plans.some(({ differences }) => differences.length > 0);
  return [...shown, total, ...(isDifferent ? [SETTLE] : []), ...(unmanaged ? unmanagedSpaceLines(unmanaged) : [])];
}
