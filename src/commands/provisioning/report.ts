import { PartnerctlError } from '../../errors.ts';
import { endedAs } from '../../output/batch-result.ts';
import type { ReportLine, TonedText } from '../../output/command-result.ts';
import { withReason } from '../../output/sentences.ts';
import type { Difference } from '../../provision/differences.ts';
import type { SpacePlan, Step, Unmanaged } from '../../provision/plan.ts';
import { actionOf, countSteps, RESOURCES, type Status, statusOf, sum } from './json.ts';

/* The steps of documents as people see them: one mark for one meaning, before and after; see the help of `plan`. */

/** Whether the steps are still to be done. */
export type Tense = 'planned' | 'created';

/** What a step creates, without its name. */
export function stepDetail(step: Step): string {
  const { op, detail } = step;
  switch (op) {
    case 'create_space':
      return [
        ...(detail.description === undefined ? [] : [`description ${JSON.stringify(detail.description)}`]),
        ...(detail.is_org_wide === undefined ? [] : [`${detail.is_org_wide ? '' : 'not '}organization-wide`]),
      ].join(', ');
    case 'install_agent': {
      const mode = detail.api_chat_routing_mode === undefined ? '' : ` (${detail.api_chat_routing_mode})`;
      const chat = detail.auto_create_api_chat ? `, with API chat${mode}` : ', without API chat';
      return `from ${detail.template_id}${detail.auto_create_api_chat === undefined ? '' : chat}`;
    }
    case 'setup_chat': {
      const replies = detail.reply_capable ? 'with replies' : 'without replies';
      return `${JSON.stringify(detail.source_name)}, ${detail.routing_mode}, ${replies}`;
    }
    case 'create_job': {
      // `2026-11-23T18:00:00+01:00` as people read it.
      const next = step.job?.next_runs[0]?.replace('T', ' ').replace(/:00([+-])/, ' $1');
      return `${step.job?.description}${next === undefined ? '' : `; next run ${next}`}`;
    }
  }
}

const VERBS = {
  create_space: { planned: 'create space', created: 'created space' },
  install_agent: { planned: 'install agent', created: 'installed agent' },
  setup_chat: { planned: 'set up chat of', created: 'set up chat of' },
  create_job: { planned: 'create job', created: 'created job' },
} as const;

/** A line of what belongs to a space. */
function detailLine(marker: string, tone: ReportLine['tone'], text: TonedText): ReportLine {
  return { indent: 4, marker, tone, text };
}

function stepLine(step: Step, tense: Tense): ReportLine {
  const owner = step.op === 'create_job' ? ` of ${JSON.stringify(step.agent.wanted.name)}` : '';
  const detail = stepDetail(step);
  const separator = detail === '' ? '' : step.op === 'install_agent' ? ' ' : ': ';
  return detailLine('+', 'good', [
    { text: `${VERBS[step.op][tense]} ${JSON.stringify(step.name)}${owner}` },
    { text: `${separator}${detail}`, tone: 'plain' },
    { text: step.id === null ? '' : ` (${step.id})`, tone: 'dim' },
  ]);
}

function counted(count: number, noun: string): string[] {
  return count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}`];
}

/** `1 space, 2 agents` */
function countedSteps(plans: readonly SpacePlan[], status: Step['status']): string {
  const { spaces, agents, chats, jobs } = countSteps(plans, status);
  return [
    ...counted(spaces, 'space'),
    ...counted(agents, 'agent'),
    ...counted(chats, 'chat'),
    ...counted(jobs, 'job'),
  ].join(', ');
}

function unchangedLines(plan: SpacePlan): ReportLine[] {
  const differs = ({ op, name }: Step) =>
    plan.differences.some((each) => each.resource === RESOURCES[op] && each.name === name);
  const things = countedSteps([{ ...plan, steps: plan.steps.filter((step) => !differs(step)) }], 'unchanged');
  return things === '' ? [] : [detailLine('=', 'dim', `unchanged: ${things.replace('1 space', 'the space')}`)];
}

/** A difference without its subject: `"old" → "new"`. */
export function differenceDetail({ resource, service, manifest }: Difference): string {
  const nothing = resource === 'job' ? '(not recorded)' : '(none)';
  return [service, manifest].map((value) => (value === null ? nothing : JSON.stringify(value))).join(' → ');
}

/** @param isPublic whether others read it: then the instructions of a job are left out */
function differenceLine(difference: Difference, isPublic: boolean): ReportLine {
  const { resource, name, field } = difference;
  const subject = resource === 'space' ? '' : `${resource === 'chat' ? ' of' : ''} ${JSON.stringify(name)}`;
  const isHidden = isPublic && resource === 'job' && field === 'instructions';
  return detailLine('!', 'warn', [
    { text: `${resource}${subject} ${field}: ` },
    { text: isHidden ? 'differ' : differenceDetail(difference), tone: 'plain' },
  ]);
}

/** What identifies something that the manifest does not have, besides its name. */
export function unmanagedDetail({ id, template_id, agent }: Unmanaged): string {
  const owner = agent === undefined ? undefined : `of ${JSON.stringify(agent)}`;
  return [owner, id, template_id].filter((part) => part !== undefined).join(', ');
}

function unmanagedLine(unmanaged: Unmanaged): ReportLine {
  return detailLine('?', 'warn', [
    { text: `${unmanaged.resource} ${JSON.stringify(unmanaged.name ?? '')} ` },
    { text: `(${unmanagedDetail(unmanaged)}): not in the manifest`, tone: 'plain' },
  ]);
}

/** The message of an error, and the first line of its reason. */
export function errorText(error: unknown): string {
  if (!(error instanceof PartnerctlError)) return String(error);
  return withReason(error.message, error.info.why?.split('\n')[0]);
}

/** Why a document cannot be carried out, or was not, and what to do. */
function errorLines(error: unknown, tense: Tense): ReportLine[] {
  if (error === undefined) return [];
  const hints = tense === 'planned' && error instanceof PartnerctlError ? (error.info.hint?.split('\n') ?? []) : [];
  return [
    detailLine('x', 'bad', errorText(error)),
    ...hints.map((text): ReportLine => ({ indent: 6, marker: 'hint:', tone: 'dim', text })),
  ];
}

/** The chats that existed, whose sources messages are sent to. Those that were set up now are steps of their own. */
function sourceLines({ agents, steps }: SpacePlan): ReportLine[] {
  const created = steps.flatMap((step) => (step.op === 'setup_chat' && step.status === 'created' ? [step.agent] : []));
  return agents
    .filter((agent) => agent.source_id !== null && !created.includes(agent))
    .map(({ wanted, source_id }) => {
      return { indent: 6, tone: 'dim', text: `chat of ${JSON.stringify(wanted.name)}: ${source_id}` };
    });
}

/** The lines below the one that names the space. @param isPublic whether others read them */
export function detailLines(plan: SpacePlan, tense: Tense, isPublic = false): ReportLine[] {
  const { steps, differences, unmanaged, error } = plan;
  return [
    ...steps.filter(({ status }) => status === tense).map((step) => stepLine(step, tense)),
    ...unchangedLines(plan),
    ...(tense === 'created' ? sourceLines(plan) : []),
    ...differences.map((each) => differenceLine(each, isPublic)),
    ...unmanaged.map(unmanagedLine),
    ...(isPublic ? [] : errorLines(error, tense)),
  ];
}

type Sign = Pick<ReportLine, 'marker' | 'tone'>;

const NONE: Sign = { marker: '=', tone: 'dim' };

const SIGNS: Readonly<Record<string, Sign>> = {
  create: { marker: '+', tone: 'good' },
  created: { marker: '+', tone: 'good' },
  change: { marker: '~', tone: 'good' },
  reused: { marker: '~', tone: 'good' },
  blocked: { marker: 'x', tone: 'bad' },
  failed: { marker: 'x', tone: 'bad' },
  skipped: { marker: '-', tone: 'dim' },
  planned: NONE,
};

/** @param outcome the action or the status of the plan */
function signOf({ differences, unmanaged }: SpacePlan, outcome: string): Sign {
  const sign = SIGNS[outcome];
  if (sign) return sign;
  if (differences.length > 0) return { marker: '!', tone: 'warn' };
  return unmanaged.length > 0 ? { marker: '?', tone: 'warn' } : NONE;
}

/** Whether there is nothing to do for a document, and nothing to say about it. */
export function isIdle(plan: SpacePlan): boolean {
  return signOf(plan, actionOf(plan)) === NONE;
}

function headerLine({ document, space_id }: SpacePlan, sign: Sign, word: string): ReportLine {
  const ids = [space_id, document.source].filter((part) => part !== null);
  return {
    indent: 0,
    ...sign,
    text: [
      { text: document.manifest.external_space_id, tone: 'heading' },
      { text: ids.map((part) => `  ${part}`).join(''), tone: 'dim' },
      { text: word && `  ${word}`, tone: 'plain' },
    ],
  };
}

function leftovers(plans: readonly SpacePlan[]): string[] {
  const unmanaged = sum(plans, 'unmanaged');
  return [
    ...counted(sum(plans, 'differences'), 'difference').map((text) => `${text} cannot be changed through the API`),
    ...(unmanaged === 0 ? [] : [`${unmanaged} not in the manifest`]),
  ];
}

/** The statuses that people see under another word than scripts. */
const STATUS_WORDS: Readonly<Partial<Record<Status, string>>> = { reused: 'changed', planned: 'valid' };

/** What became of a document, in a word for people. */
export function statusWord(plan: SpacePlan): string {
  const status = statusOf(plan);
  return endedAs(STATUS_WORDS[status] ?? status, plan.error);
}

/** The words that totals count. What is created or changed is counted as things. */
const COUNTED = ['blocked', 'failed', 'interrupted', 'skipped', 'unchanged', 'valid', 'with nothing to do'];

/** What a plan or a run does in all: `1 space, 2 agents, 1 job to create; 3 spaces with nothing to do` */
export function countAll(plans: readonly SpacePlan[], tense: Tense): string {
  const things = countedSteps(plans, tense);
  const actions: Readonly<Record<string, string>> = { blocked: 'blocked', none: 'with nothing to do' };
  const words = plans.map((plan) => (tense === 'planned' ? actions[actionOf(plan)] : statusWord(plan)));
  const counts = COUNTED.flatMap((word) => {
    const count = words.filter((each) => each === word).length;
    return counted(count, word === 'valid' ? 'document' : 'space').map((text) => `${text} ${word}`);
  });
  const created = tense === 'planned' ? 'to create' : 'created';
  return [...(things === '' ? [] : [`${things} ${created}`]), ...counts, ...leftovers(plans)].join('; ');
}

/** The last line: `Plan: 1 space to create.` */
export function totalOf(plans: readonly SpacePlan[], tense: Tense): string {
  return `${tense === 'planned' ? 'Plan' : 'Done'}: ${countAll(plans, tense)}.`;
}

/** For each space, in the order of the input, what will happen or what was done. Unchanged spaces of a plan are one line. */
export function reportOf(plans: readonly SpacePlan[], tense: Tense): ReportLine[] {
  if (plans.length === 0) return [];
  const isPlan = tense === 'planned';
  const idle: string[] = [];
  const lines = plans.flatMap((plan) => {
    if (isPlan && isIdle(plan)) {
      idle.push(plan.document.manifest.external_space_id);
      return [];
    }
    const outcome = isPlan ? actionOf(plan) : statusOf(plan);
    const header = headerLine(plan, signOf(plan, outcome), isPlan ? '' : statusWord(plan));
    return outcome === 'skipped' || outcome === 'planned' ? [header] : [header, ...detailLines(plan, tense)];
  });
  const unchanged = counted(idle.length, 'space').map((text) => `${text} unchanged: ${idle.join(', ')}`);
  return [
    ...lines,
    ...unchanged.map((text) => ({ indent: 0, ...NONE, text })),
    { indent: 0, tone: 'heading', text: totalOf(plans, tense) },
  ];
}
