import { groupBy } from '../contract/group-by.ts';
import { PartnerctlError } from '../errors.ts';
import { joinCounts } from '../output/batch-result.ts';
import { endedAs, failedItem, failureLines } from '../output/ci/findings.ts';
import type { CiView, Column, Finding, ReportLine, SummarySection } from '../output/command-result.ts';
import { withReason } from '../output/sentences.ts';
import type { Action } from './actions.ts';
import type { Difference } from './differences.ts';
import { countDocuments, type DocumentResult, type DocumentStatus } from './document-result.ts';
import {
  actionLine,
  differenceLine,
  headerLine,
  leftoversText,
  publicDifferenceLine,
  unchangedLines,
  unmanagedLine,
} from './report-lines.ts';
import type { UnchangedCounts } from './space-plan.ts';

function countsText(things: readonly { readonly status: string }[]): string {
  const groups = groupBy(things, ({ status }) => status);
  return [...groups].map(([status, { length }]) => `${length} ${status}`).join(', ');
}

/** The sources to send messages to; with the names of the agents if there are several. */
function sourcesText({ agents }: DocumentResult): string {
  const connected = agents.filter(({ source_id }) => source_id !== null);
  return connected.map(({ name, source_id }) => (agents.length === 1 ? source_id : `${name} ${source_id}`)).join(', ');
}

/** The message of an error, and the first line of its reason. */
function errorText(error: unknown): string {
  if (!(error instanceof PartnerctlError)) return String(error);
  const why = error.info.why?.split('\n')[0];
  return withReason(error.message, why);
}

function differencesText({ differences }: DocumentResult): string {
  return differences
    .map(
      ({ resource, name, field, service, manifest }) =>
        `${resource === 'space' ? 'space' : `${resource} ${JSON.stringify(name)}`} ${field} stays ${JSON.stringify(service)}; the manifest has ${JSON.stringify(manifest)}`,
    )
    .join('; ');
}

const SIGNS = {
  created: { marker: '+', tone: 'good' },
  reused: { marker: '~', tone: 'good' },
  unchanged: { marker: '=', tone: 'dim' },
  valid: { marker: '=', tone: 'good' },
  failed: { marker: 'x', tone: 'bad' },
  skipped: { marker: '-', tone: 'dim' },
} as const satisfies Record<DocumentStatus, Pick<ReportLine, 'marker' | 'tone'>>;

/** The columns of tsv, and of a table of checked documents. */
export const COLUMNS: readonly Column<DocumentResult>[] = [
  { header: 'SOURCE', value: ({ source }) => source, fit: 'start' },
  { header: 'EXTERNAL ID', value: ({ external_space_id }) => external_space_id },
  { header: 'SPACE', value: ({ space_id }) => space_id, fit: 'middle' },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => SIGNS[status].tone },
  { header: 'AGENTS', value: ({ agents }) => countsText(agents) },
  {
    header: 'NOTE',
    value: (result) => (result.error === undefined ? differencesText(result) : errorText(result.error)),
    fit: 'below',
  },
  { header: 'CHAT', value: sourcesText, fit: 'below' },
  { header: 'JOBS', value: ({ cron, status }) => countsText(status === 'valid' ? cron.map(() => ({ status })) : cron) },
];

/** The id of what an action created. */
function idOf(action: Action, { space_id, agents, cron }: DocumentResult): string | null | undefined {
  switch (action.op) {
    case 'create_space':
      return space_id;
    case 'install_agent':
      return agents.find(({ name, template_id }) => name === action.name && template_id === action.template_id)
        ?.agent_id;
    case 'setup_chat':
      return agents.find(({ name }) => name === action.name)?.source_id;
    case 'create_job':
      return cron.find(({ job, status }) => status === 'created' && job.name === action.name)?.cron_job_id;
  }
}

function failureLine(error: unknown): ReportLine {
  return { indent: 4, marker: 'x', tone: 'bad', text: errorText(error) };
}

/** The chats that were not set up now, whose ids are with the actions. */
function chatLines({ agents, actions }: DocumentResult): ReportLine[] {
  const isNew = (agent: string) => actions.some(({ op, name }) => op === 'setup_chat' && name === agent);
  return agents
    .filter(({ name, source_id }) => source_id !== null && !isNew(name))
    .map(({ name, source_id }) => ({ indent: 6, tone: 'dim', text: `chat of ${JSON.stringify(name)}: ${source_id}` }));
}

/** As a plan counts it: without what differs. */
function countUnchanged({ space_id, agents, cron, actions, differences }: DocumentResult): UnchangedCounts {
  const same = (kind: Difference['resource'], name?: string) =>
    !differences.some((each) => each.resource === kind && (name === undefined || each.name === name));
  const isCreated = actions.some(({ op }) => op === 'create_space');
  return {
    spaces: space_id !== null && !isCreated && same('space') ? 1 : 0,
    agents: agents.filter(({ status, name }) => status === 'unchanged' && same('agent', name)).length,
    chats: 0,
    jobs: cron.filter((job) => job.status === 'exists' || job.status === 'adopted').length,
  };
}

function documentLines(result: DocumentResult): ReportLine[] {
  const { status, actions, differences, unmanaged, error } = result;
  const sign = SIGNS[status];
  const rest = [...differences.map(differenceLine), ...unmanaged.map(unmanagedLine)];
  if (status === 'unchanged') {
    const sources = sourcesText(result);
    const more = sources === '' ? [status] : [status, `chat ${sources}`];
    return [headerLine({ ...result, source: undefined }, sign, more), ...rest];
  }
  return [
    headerLine(result, sign, [status]),
    ...actions.map((action) => actionLine(action, 'done', idOf(action, result))),
    ...(status === 'skipped' ? [] : unchangedLines(countUnchanged(result))),
    ...chatLines(result),
    ...rest,
    ...(error === undefined ? [] : [failureLine(error)]),
  ];
}

/**
 * The failures of a document. The reason of a job's failure is left out, because it may quote the instructions. The error of
 * the document is that of its jobs, if any failed.
 */
function failuresOf({ source, error, cron }: DocumentResult): Finding[] {
  const jobs = cron.flatMap((job) => failedItem(job.error, source, true));
  return jobs.length > 0 ? jobs : failedItem(error, source);
}

function toSection(result: DocumentResult): SummarySection {
  const { external_space_id: name, source, differences, error } = result;
  const status = endedAs(result.status, error);
  const shown = documentLines({ ...result, differences: [], error: undefined }).slice(1);
  return {
    name,
    detail: `${source}, ${status}`,
    isFailure: status === 'failed',
    lines: [
      ...failuresOf(result).flatMap(failureLines),
      ...(status === 'unchanged' || status === 'skipped' ? [] : shown),
      ...differences.map(publicDifferenceLine),
    ],
  };
}

/** What a CI system shows of the results. */
export const CI_VIEW: CiView<DocumentResult> = {
  findings: (result) =>
    failuresOf(result).map((failure) => ({ ...failure, message: `${result.external_space_id}: ${failure.message}` })),
  section: toSection,
};

/** What provisioning did, as people see it: as a plan shows it beforehand. */
export function provisionReport(results: readonly DocumentResult[]): ReportLine[] {
  if (results.length === 0) return [];
  const sum = (list: 'differences' | 'unmanaged') => results.reduce((total, result) => total + result[list].length, 0);
  const leftovers = leftoversText({ differences: sum('differences'), unmanaged: sum('unmanaged') });
  const total = `Done: ${joinCounts(countDocuments(results))}${leftovers === '' ? '' : `; ${leftovers}`}.`;
  return [...results.flatMap(documentLines), { indent: 0, tone: 'heading', text: total }];
}
