import type { ReportLine } from '../output/command-result.ts';
import type { Action } from './actions.ts';
import type { Difference } from './differences.ts';
import type { Unmanaged } from './provision-plan.ts';
import type { Block, UnchangedCounts } from './space-plan.ts';

/** The indentation of what belongs to a space. */
const INDENT = 4;

/** `2026-11-23T18:00:00+01:00` as people read it. */
function formatRun(iso: string): string {
  return iso.replace('T', ' ').replace(/:00([+-])/, ' $1');
}

function spaceFields({ description, is_org_wide }: Extract<Action, { op: 'create_space' }>): string {
  const fields = [
    description === undefined ? [] : [`description ${JSON.stringify(description)}`],
    is_org_wide === undefined ? [] : [is_org_wide ? 'organization-wide' : 'not organization-wide'],
  ];
  return fields.flat().join(', ');
}

function agentFields(action: Extract<Action, { op: 'install_agent' }>): string {
  const { template_id, auto_create_api_chat, api_chat_routing_mode: mode } = action;
  const chat = mode === undefined ? 'with API chat' : `with API chat (${mode})`;
  if (auto_create_api_chat === undefined) return `from ${template_id}`;
  return `from ${template_id}, ${auto_create_api_chat ? chat : 'without API chat'}`;
}

/** What an action creates, without its name. */
export function actionDetail(action: Action): string {
  switch (action.op) {
    case 'create_space':
      return spaceFields(action);
    case 'install_agent':
      return agentFields(action);
    case 'setup_chat': {
      const { source_name, routing_mode, reply_capable } = action;
      return `${JSON.stringify(source_name)}, ${routing_mode}, ${reply_capable ? 'with replies' : 'without replies'}`;
    }
    case 'create_job': {
      const [next] = action.next_runs;
      return `${action.in_words}${next === undefined ? '' : `; next run ${formatRun(next)}`}`;
    }
  }
}

const VERBS = {
  create_space: { planned: 'create space', done: 'created space' },
  install_agent: { planned: 'install agent', done: 'installed agent' },
  setup_chat: { planned: 'set up chat of', done: 'set up chat of' },
  create_job: { planned: 'create job', done: 'created job' },
} as const;

/** The line of an action. @param id what the service assigned */
export function actionLine(action: Action, tense: 'planned' | 'done', id?: string | null): ReportLine {
  const owner = action.op === 'create_job' ? ` of ${JSON.stringify(action.agent)}` : '';
  const subject = `${VERBS[action.op][tense]} ${JSON.stringify(action.name)}${owner}`;
  const detail = actionDetail(action);
  const isPhrase = action.op === 'install_agent';
  const suffix = detail === '' ? '' : `${isPhrase ? ' ' : ': '}${detail}`;
  return {
    indent: INDENT,
    marker: '+',
    tone: 'good',
    text: [{ text: subject }, { text: suffix, tone: 'plain' }, { text: id ? ` (${id})` : '', tone: 'dim' }],
  };
}

function shown(value: unknown, resource: Difference['resource']): string {
  if (value === null) return resource === 'job' ? '(not recorded)' : '(none)';
  return JSON.stringify(value);
}

/** A difference without its subject: `"old" → "new"`. */
export function differenceDetail({ resource, service, manifest }: Difference): string {
  return `${shown(service, resource)} → ${shown(manifest, resource)}`;
}

/** The line of a difference that no call changes. */
export function differenceLine(difference: Difference): ReportLine {
  const { resource, name, field } = difference;
  const subject = {
    space: 'space',
    agent: `agent ${JSON.stringify(name)}`,
    chat: `chat of ${JSON.stringify(name)}`,
    job: `job ${JSON.stringify(name)}`,
  };
  return {
    indent: INDENT,
    marker: '!',
    tone: 'warn',
    text: [{ text: `${subject[resource]} ${field}: ` }, { text: differenceDetail(difference), tone: 'plain' }],
  };
}

/** The line of a difference where others read it: without the instructions of a job. */
export function publicDifferenceLine(difference: Difference): ReportLine {
  const { resource, name, field } = difference;
  if (resource !== 'job' || field !== 'instructions') return differenceLine(difference);
  return { indent: INDENT, marker: '!', tone: 'warn', text: `job ${JSON.stringify(name)} instructions differ` };
}

/** What identifies something that the manifest does not have, besides its name. */
export function unmanagedDetail({ id, template_id, agent }: Unmanaged): string {
  const owner = agent === undefined ? '' : `of ${JSON.stringify(agent)}`;
  return [owner, id ?? '', template_id ?? ''].filter((part) => part !== '').join(', ');
}

/** The line of something that the manifest does not have. */
export function unmanagedLine(unmanaged: Unmanaged): ReportLine {
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

/** The lines of something that provisioning leaves as it is. */
export function blockLines({ message, hint }: Block): ReportLine[] {
  const text = [{ text: 'blocked: ' }, { text: message, tone: 'plain' as const }];
  const hints = hint?.split('\n') ?? [];
  return [
    { indent: INDENT, marker: 'x', tone: 'bad', text },
    ...hints.map((line): ReportLine => ({ indent: INDENT + 2, marker: 'hint:', tone: 'dim', text: line })),
  ];
}

/** A remark. */
export function noteLine(text: string): ReportLine {
  return { indent: INDENT, marker: 'note:', tone: 'dim', text };
}

function counted(count: number, noun: string): string[] {
  return count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}`];
}

/** The line that counts what exists as the manifest describes it; none if nothing does. */
export function unchangedLines({ spaces, agents, chats, jobs }: UnchangedCounts): ReportLine[] {
  const parts = [
    ...(spaces > 0 ? ['the space'] : []),
    ...counted(agents, 'agent'),
    ...counted(chats, 'chat'),
    ...counted(jobs, 'job'),
  ];
  if (parts.length === 0) return [];
  return [
    {
      indent: INDENT,
      marker: '=',
      tone: 'dim',
      text: `${spaces + agents + chats + jobs} unchanged: ${parts.join(', ')}`,
    },
  ];
}

/** What a line that begins a space names. */
interface SpaceHead {
  readonly external_space_id: string;
  readonly space_id: string | null;
  /** Undefined to leave it out. */
  readonly source: string | undefined;
}

/** The line that begins a space. @param more what follows */
export function headerLine(
  { external_space_id, space_id, source }: SpaceHead,
  { marker, tone }: Pick<ReportLine, 'marker' | 'tone'>,
  more: readonly string[] = [],
): ReportLine {
  const ids = [space_id, source].filter((part) => part !== null && part !== undefined);
  const spaced = (parts: readonly string[]) => parts.map((part) => `  ${part}`).join('');
  return {
    indent: 0,
    ...(marker !== undefined && { marker }),
    tone,
    text: [
      { text: external_space_id, tone: 'heading' },
      { text: spaced(ids), tone: 'dim' },
      { text: spaced(more), tone: 'plain' },
    ],
  };
}

/** What follows the total of a report: `2 differences that no call can change, 1 not in the manifest`. */
export function leftoversText(counts: { differences: number; unmanaged: number; blocked?: number }): string {
  const { differences, unmanaged, blocked = 0 } = counts;
  const difference = differences === 1 ? 'difference' : 'differences';
  const parts = [
    ...(differences > 0 ? [`${differences} ${difference} that no call can change`] : []),
    ...(unmanaged > 0 ? [`${unmanaged} not in the manifest`] : []),
    ...(blocked > 0 ? [`${blocked} blocked`] : []),
  ];
  return parts.join(', ');
}
