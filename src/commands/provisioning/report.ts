import { InterruptedError, PartnerctlError } from '../../errors.ts';
import type { ReportLine } from '../../output/command-result.ts';
import { withReason } from '../../output/sentences.ts';
import type { Difference } from '../../provision/differences.ts';
import type { SpacePlan, Step, Unmanaged } from '../../provision/plan.ts';
import {
  actionOf,
  agentName,
  countSteps,
  planSummary,
  RESOURCES,
  resultSummary,
  type Status,
  statusOf,
  statusWord,
  sum,
  type Tense,
} from './json.ts';

/** `2026-11-23T18:00:00+01:00` as people read it. */
function formatRun(iso: string): string {
  return iso.replace('T', ' ').replace(/:00([+-])/, ' $1');
}

/** What a step creates, without its name. */
export function stepDetail({ op, detail, job }: Step): string {
  const mode = detail.api_chat_routing_mode ?? detail.routing_mode;
  if (op === 'create_job') {
    const [next] = job?.next_runs ?? [];
    return `${job?.description ?? ''}${next === undefined ? '' : `; next run ${formatRun(next)}`}`;
  }
  if (op === 'setup_chat') {
    return `${JSON.stringify(detail.source_name)}, ${mode}, ${detail.reply_capable ? 'with replies' : 'without replies'}`;
  }
  if (op === 'install_agent') {
    const chat = detail.auto_create_api_chat ? `with API chat${mode ? ` (${mode})` : ''}` : 'without API chat';
    return `from ${detail.template_id}${detail.auto_create_api_chat === undefined ? '' : `, ${chat}`}`;
  }
  const orgWide = detail.is_org_wide ? 'organization-wide' : 'not organization-wide';
  return [
    ...(detail.description === undefined ? [] : [`description ${JSON.stringify(detail.description)}`]),
    ...(detail.is_org_wide === undefined ? [] : [orgWide]),
  ].join(', ');
}

const VERBS = {
  create_space: { planned: 'create space', created: 'created space' },
  install_agent: { planned: 'install agent', created: 'installed agent' },
  setup_chat: { planned: 'set up chat of', created: 'set up chat of' },
  create_job: { planned: 'create job', created: 'created job' },
} as const;

/** The indentation of what belongs to a space. */
const INDENT = 4;

function stepLine(plan: SpacePlan, step: Step, tense: Tense): ReportLine {
  const owner = step.op === 'create_job' ? ` of ${JSON.stringify(agentName(plan, step))}` : '';
  const detail = stepDetail(step);
  const suffix = detail === '' ? '' : `${step.op === 'install_agent' ? ' ' : ': '}${detail}`;
  return {
    indent: INDENT,
    marker: '+',
    tone: 'good',
    text: [
      { text: `${VERBS[step.op][tense]} ${JSON.stringify(step.name)}${owner}` },
      { text: suffix, tone: 'plain' },
      { text: step.id === null ? '' : ` (${step.id})`, tone: 'dim' },
    ],
  };
}

function counted(count: number, noun: string): string[] {
  return count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}`];
}

function countedThings({ spaces, agents, chats, jobs }: ReturnType<typeof countSteps>): string[] {
  return [...counted(spaces, 'space'), ...counted(agents, 'agent'), ...counted(chats, 'chat'), ...counted(jobs, 'job')];
}

function unchangedLines(plan: SpacePlan): ReportLine[] {
  const isSame = ({ op, name }: Step) =>
    !plan.differences.some((each) => each.resource === RESOURCES[op] && each.name === name);
  const same = { ...plan, steps: plan.steps.filter(isSame) };
  const things = countedThings(countSteps([same], 'unchanged'));
  if (things.length === 0) return [];
  return [
    {
      indent: INDENT,
      marker: '=',
      tone: 'dim',
      text: `unchanged: ${things.join(', ').replace('1 space', 'the space')}`,
    },
  ];
}

/** A difference without its subject: `"old" → "new"`. */
export function differenceDetail({ resource, service, manifest }: Difference): string {
  const shown = (value: unknown) => {
    if (value === null) return resource === 'job' ? '(not recorded)' : '(none)';
    return JSON.stringify(value);
  };
  return `${shown(service)} → ${shown(manifest)}`;
}

/** @param isPublic whether others read it: then the instructions of a job are left out */
function differenceLine(difference: Difference, isPublic: boolean): ReportLine {
  const { resource, name, field } = difference;
  const quoted = JSON.stringify(name);
  const subject = { space: 'space', agent: `agent ${quoted}`, chat: `chat of ${quoted}`, job: `job ${quoted}` }[
    resource
  ];
  const isHidden = isPublic && resource === 'job' && field === 'instructions';
  const detail = isHidden ? 'differ' : differenceDetail(difference);
  return {
    indent: INDENT,
    marker: '!',
    tone: 'warn',
    text: [{ text: `${subject} ${field}: ` }, { text: detail, tone: 'plain' }],
  };
}

/** What identifies something that the manifest does not have, besides its name. */
export function unmanagedDetail({ id, template_id, agent }: Unmanaged): string {
  const owner = agent === undefined ? undefined : `of ${JSON.stringify(agent)}`;
  return [owner, id, template_id].filter((part) => part !== undefined).join(', ');
}

function unmanagedLine(unmanaged: Unmanaged): ReportLine {
  const { resource, name } = unmanaged;
  return {
    indent: INDENT,
    marker: '?',
    tone: 'warn',
    text: [
      { text: `${resource} ${JSON.stringify(name ?? '')} ` },
      { text: `(${unmanagedDetail(unmanaged)}): not in the manifest`, tone: 'plain' },
    ],
  };
}

/** The message of an error, and the first line of its reason. */
export function errorText(error: unknown): string {
  if (!(error instanceof PartnerctlError)) return String(error);
  return withReason(error.message, error.info.why?.split('\n')[0]);
}

/** The reason why a document cannot be carried out, or was not, and what to do. */
function errorLines(error: unknown, tense: Tense): ReportLine[] {
  if (error === undefined) return [];
  const hints = tense === 'planned' && error instanceof PartnerctlError ? (error.info.hint?.split('\n') ?? []) : [];
  return [
    { indent: INDENT, marker: 'x', tone: 'bad', text: errorText(error) },
    ...hints.map((text): ReportLine => ({ indent: INDENT + 2, marker: 'hint:', tone: 'dim', text })),
  ];
}

/** The chats that existed, whose sources messages are sent to. Those that were set up now are steps of their own. */
function sourceLines({ document, agents, steps }: SpacePlan): ReportLine[] {
  const isNew = (index: number) =>
    steps.some(({ op, agent, status }) => op === 'setup_chat' && agent === index && status === 'created');
  return document.manifest.agents.flatMap(({ name }, index): ReportLine[] => {
    const source = agents[index]?.source_id ?? null;
    if (source === null || isNew(index)) return [];
    return [{ indent: INDENT + 2, tone: 'dim', text: `chat of ${JSON.stringify(name)}: ${source}` }];
  });
}

type Sign = Pick<ReportLine, 'marker' | 'tone'>;

/** One mark for one meaning, before and after: see the help of `plan`. */
export const SIGNS = {
  create: { marker: '+', tone: 'good' },
  change: { marker: '~', tone: 'good' },
  none: { marker: '=', tone: 'dim' },
  blocked: { marker: 'x', tone: 'bad' },
  skipped: { marker: '-', tone: 'dim' },
} as const satisfies Record<string, Sign>;

/** The sign of a space to which nothing is or was added. */
function idleSign({ differences, unmanaged }: SpacePlan): Sign {
  if (differences.length > 0) return { marker: '!', tone: 'warn' };
  return unmanaged.length > 0 ? { marker: '?', tone: 'warn' } : SIGNS.none;
}

export function planSign(plan: SpacePlan): Sign {
  const action = actionOf(plan);
  return action === 'none' ? idleSign(plan) : SIGNS[action];
}

const STATUS_SIGNS: Readonly<Record<Exclude<Status, 'unchanged'>, Sign>> = {
  created: SIGNS.create,
  reused: SIGNS.change,
  planned: SIGNS.none,
  failed: SIGNS.blocked,
  skipped: SIGNS.skipped,
};

function resultSign(plan: SpacePlan, status: Status): Sign {
  return status === 'unchanged' ? idleSign(plan) : STATUS_SIGNS[status];
}

function headerLine({ document, space_id }: SpacePlan, sign: Sign, more = ''): ReportLine {
  const ids = [space_id, document.source].filter((part) => part !== null);
  return {
    indent: 0,
    ...sign,
    text: [
      { text: document.manifest.external_space_id, tone: 'heading' },
      { text: ids.map((part) => `  ${part}`).join(''), tone: 'dim' },
      { text: more && `  ${more}`, tone: 'plain' },
    ],
  };
}

/** The lines below the one that names the space. */
export function detailLines(plan: SpacePlan, tense: Tense, isPublic = false): ReportLine[] {
  const { steps, differences, unmanaged, error } = plan;
  return [
    ...steps.filter(({ status }) => status === tense).map((step) => stepLine(plan, step, tense)),
    ...unchangedLines(plan),
    ...(tense === 'created' ? sourceLines(plan) : []),
    ...differences.map((each) => differenceLine(each, isPublic)),
    ...unmanaged.map(unmanagedLine),
    ...(isPublic ? [] : errorLines(error, tense)),
  ];
}

function leftovers(plans: readonly SpacePlan[]): string[] {
  const differences = sum(plans, 'differences');
  const unmanaged = sum(plans, 'unmanaged');
  return [
    ...(differences === 0 ? [] : [`${counted(differences, 'difference').join('')} cannot be changed through the API`]),
    ...(unmanaged === 0 ? [] : [`${unmanaged} not in the manifest`]),
  ];
}

/** What a plan does in all: `Plan: 1 space, 2 agents, 1 job to create; 3 spaces with nothing to do.` */
export function planTotal(plans: readonly SpacePlan[]): string {
  const things = countedThings(countSteps(plans, 'planned'));
  const { none, blocked } = planSummary(plans);
  const parts = [
    ...(things.length === 0 ? [] : [`${things.join(', ')} to create`]),
    ...(blocked === 0 ? [] : [`${counted(blocked, 'space').join('')} blocked`]),
    ...(none === 0 ? [] : [`${counted(none, 'space').join('')} with nothing to do`]),
    ...leftovers(plans),
  ];
  return `Plan: ${parts.join('; ')}.`;
}

/** A plan as people see it: for each space, in the order of the input, what will happen. Unchanged spaces are one line. */
export function planReport(plans: readonly SpacePlan[]): ReportLine[] {
  if (plans.length === 0) return [];
  const unchanged = plans.filter((plan) => planSign(plan) === SIGNS.none);
  const ids = unchanged.map(({ document }) => document.manifest.external_space_id).join(', ');
  return [
    ...plans
      .filter((plan) => !unchanged.includes(plan))
      .flatMap((plan) => [headerLine(plan, planSign(plan)), ...detailLines(plan, 'planned')]),
    ...(unchanged.length === 0
      ? []
      : [{ indent: 0, ...SIGNS.none, text: `${counted(unchanged.length, 'space').join('')} unchanged: ${ids}` }]),
    { indent: 0, tone: 'heading', text: planTotal(plans) },
  ];
}

/** What provision did in all: `1 space, 2 agents, 1 job created; 3 spaces unchanged` */
export function resultCounts(plans: readonly SpacePlan[]): string {
  const things = countedThings(countSteps(plans, 'created'));
  const { unchanged = 0, failed: ended = 0, skipped = 0, planned = 0 } = resultSummary(plans);
  const interrupted = plans.filter(({ error }) => error instanceof InterruptedError).length;
  const failed = ended - interrupted;
  const parts = [
    ...(things.length === 0 ? [] : [`${things.join(', ')} created`]),
    ...(failed === 0 ? [] : [`${counted(failed, 'space').join('')} failed`]),
    ...(interrupted === 0 ? [] : [`${counted(interrupted, 'space').join('')} interrupted`]),
    ...(skipped === 0 ? [] : [`${counted(skipped, 'space').join('')} skipped`]),
    ...(unchanged === 0 ? [] : [`${counted(unchanged, 'space').join('')} unchanged`]),
    ...(planned === 0 ? [] : [`${counted(planned, 'document').join('')} valid`]),
    ...leftovers(plans),
  ];
  return parts.join('; ');
}

export function resultTotal(plans: readonly SpacePlan[]): string {
  return `Done: ${resultCounts(plans)}.`;
}

/** What provision did, as people see it: as a plan shows it beforehand. */
export function resultReport(plans: readonly SpacePlan[]): ReportLine[] {
  if (plans.length === 0) return [];
  const lines = plans.flatMap((plan) => {
    const status = statusOf(plan);
    const isBrief = status === 'skipped' || status === 'planned';
    const header = headerLine(plan, resultSign(plan, status), statusWord(plan));
    return [header, ...(isBrief ? [] : detailLines(plan, 'created'))];
  });
  return [...lines, { indent: 0, tone: 'heading', text: resultTotal(plans) }];
}
