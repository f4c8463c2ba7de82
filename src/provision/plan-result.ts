import { EXIT, type ExitCode } from '../errors.ts';
import { placeOf } from '../output/ci/findings.ts';
import {
  type Cell,
  type CiView,
  type CommandResult,
  listResult,
  type ReportLine,
  type SummarySection,
} from '../output/command-result.ts';
import {
  actionDetail,
  actionLine,
  blockLines,
  differenceDetail,
  differenceLine,
  headerLine,
  leftoversText,
  noteLine,
  publicDifferenceLine,
  unchangedLines,
  unmanagedDetail,
  unmanagedLine,
} from './report-lines.ts';
import { type SpacePlan, spacePlanJson, summarizePlans } from './space-plan.ts';

function markerOf({ action, blocked, differences, unmanaged }: SpacePlan): Pick<ReportLine, 'marker' | 'tone'> {
  if (blocked.length > 0) return { marker: 'x', tone: 'bad' };
  if (action === 'create') return { marker: '+', tone: 'good' };
  if (action === 'change') return { marker: '~', tone: 'good' };
  if (differences.length > 0) return { marker: '!', tone: 'warn' };
  return unmanaged.length > 0 ? { marker: '?', tone: 'warn' } : { marker: '=', tone: 'dim' };
}

/** Whether there is nothing to say about a space but that it is unchanged. */
function isUnchanged({ actions, differences, unmanaged, blocked, notes }: SpacePlan): boolean {
  return [actions, differences, unmanaged, blocked, notes].every(({ length }) => length === 0);
}

/** The lines below the one that names the space. */
function detailLines(plan: SpacePlan, toLine: typeof differenceLine): ReportLine[] {
  return [
    ...plan.actions.map((action) => actionLine(action, 'planned')),
    ...unchangedLines(plan.unchanged),
    ...plan.differences.map(toLine),
    ...plan.unmanaged.map(unmanagedLine),
    ...plan.blocked.flatMap(blockLines),
    ...plan.notes.map(noteLine),
  ];
}

function spaceLines(plan: SpacePlan): ReportLine[] {
  return [headerLine(plan, markerOf(plan)), ...detailLines(plan, differenceLine)];
}

const TO_DO = { create: 'create', change: 'change', none: 'nothing to do' } as const;

function toSection(plan: SpacePlan): SummarySection {
  const { external_space_id: name, source, action, blocked } = plan;
  const isFailure = blocked.length > 0;
  return {
    name,
    detail: `${source}, ${isFailure ? 'blocked' : TO_DO[action]}`,
    isFailure,
    lines: isUnchanged(plan) ? [] : detailLines(plan, publicDifferenceLine),
  };
}

/** What a CI system shows of a plan: `provision` would fail where something is blocked. */
const CI_VIEW: CiView<SpacePlan> = {
  findings: ({ source, blocked }) =>
    blocked.map(({ type, message, hint }) => ({
      level: 'warning',
      place: placeOf(source),
      type,
      message: hint === null ? message : `${message}\nhint: ${hint}`,
    })),
  section: toSection,
};

/** One line for spaces that follow each other and are unchanged. */
function foldedLine(plans: readonly SpacePlan[]): ReportLine {
  const ids = plans.map(({ external_space_id }) => external_space_id).join(', ');
  const subject = plans.length === 1 ? '1 space' : `${plans.length} spaces`;
  return { indent: 0, marker: '=', tone: 'dim', text: `${subject} unchanged: ${ids}` };
}

function totalText(plans: readonly SpacePlan[]): string {
  const counts = summarizePlans(plans);
  const parts = [
    [counts.create, 'to create'],
    [counts.change, 'to change'],
    [counts.none, 'with nothing to do'],
  ] as const;
  const spaces = parts
    .filter(([count]) => count > 0)
    .map(([count, what], index) => `${count} ${index > 0 ? '' : count === 1 ? 'space ' : 'spaces '}${what}`)
    .join(', ');
  const leftovers = leftoversText(counts);
  return `Plan: ${spaces}${leftovers === '' ? '' : `; ${leftovers}`}.`;
}

/** A plan as people see it: for each space, in the order of the input, what will happen and why. */
function planReport(plans: readonly SpacePlan[]): ReportLine[] {
  if (plans.length === 0) return [];
  const lines: ReportLine[] = [];
  let unchanged: SpacePlan[] = [];
  const fold = (): void => {
    if (unchanged.length > 0) lines.push(foldedLine(unchanged));
    unchanged = [];
  };
  for (const plan of plans) {
    if (isUnchanged(plan)) {
      unchanged.push(plan);
      continue;
    }
    fold();
    lines.push(...spaceLines(plan));
  }
  fold();
  return [...lines, { indent: 0, tone: 'heading', text: totalText(plans) }];
}

/** The resource that an operation creates. */
const RESOURCES = { create_space: 'space', install_agent: 'agent', setup_chat: 'chat', create_job: 'job' } as const;

/** The rows of a space in tsv: source, op, resource, name, detail, and external_space_id. */
function tsvLines(plan: SpacePlan): Cell[][] {
  const { source, external_space_id, space_id, actions, differences, unmanaged, blocked } = plan;
  const row = (op: string, resource: string, name: string | null, detail: string | null): Cell[] => [
    source,
    op,
    resource,
    name,
    detail,
    external_space_id,
  ];
  return [
    ...(actions.length === 0 ? [row('none', 'space', external_space_id, space_id)] : []),
    ...actions.map((action) => row(action.op, RESOURCES[action.op], action.name, actionDetail(action))),
    ...differences.map((each) =>
      row('difference', each.resource, each.name, `${each.field}: ${differenceDetail(each)}`),
    ),
    ...unmanaged.map((each) => row('unmanaged', each.resource, each.name, unmanagedDetail(each))),
    ...blocked.map(({ resource, name, message }) => row('blocked', resource, name, message)),
  ];
}

/**
 * The exit code of --detailed-exitcode. Pending changes come first: once they are applied, another plan shows whether
 * anything is left that provisioning cannot change.
 */
function detailedExitCode(plans: readonly SpacePlan[]): ExitCode {
  const { create, change, differences, blocked } = summarizePlans(plans);
  if (create + change > 0) return EXIT.changesPending;
  return differences + blocked > 0 ? EXIT.differences : EXIT.ok;
}

/** The result of a plan. */
export function planResult(
  plans: readonly SpacePlan[],
  { hasDetailedExitCode }: { readonly hasDetailedExitCode: boolean },
): CommandResult {
  return listResult(plans, [], {
    empty: 'There is nothing to plan.',
    json: spacePlanJson,
    tsvLines,
    ci: CI_VIEW,
    report: () => planReport(plans),
    summary: () => totalText(plans),
    document: () => ({ spaces: plans.map(spacePlanJson), summary: summarizePlans(plans) }),
    ...(hasDetailedExitCode && { exitCode: () => detailedExitCode(plans) }),
  });
}
