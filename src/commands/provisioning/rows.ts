import type { Cell, Column } from '../../output/command-result.ts';
import type { SpacePlan } from '../../provision/plan.ts';
import { RESOURCES, statusOf } from './json.ts';
import { differenceDetail, errorText, stepDetail, unmanagedDetail } from './report.ts';

/** The rows of a planned document in tsv: source, op, resource, name, detail, and external_space_id. */
export function planRows(plan: SpacePlan): Cell[][] {
  const { document, space_id, steps, differences, unmanaged, error } = plan;
  const { source, manifest } = document;
  const row = (op: string, resource: string, name: string | null, detail: string | null): Cell[] => [
    source,
    op,
    resource,
    name,
    detail,
    manifest.external_space_id,
  ];
  const acted = steps.filter(({ status }) => status === 'planned');
  const isQuiet = acted.length === 0 && error === undefined;
  return [
    ...(isQuiet ? [row('none', 'space', manifest.external_space_id, space_id)] : []),
    ...acted.map((step) => row(step.op, RESOURCES[step.op], step.name, stepDetail(step))),
    ...differences.map((each) =>
      row('difference', each.resource, each.name, `${each.field}: ${differenceDetail(each)}`),
    ),
    ...unmanaged.map((each) => row('unmanaged', each.resource, each.name, unmanagedDetail(each))),
    ...(error === undefined ? [] : [row('blocked', 'space', manifest.external_space_id, errorText(error))]),
  ];
}

function countsText(statuses: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
}

/** The sources to send messages to; with the names of the agents if there are several. */
function sourcesText({ document: { manifest }, agents }: SpacePlan): string {
  const names = manifest.agents.map(({ name }) => (agents.length === 1 ? '' : `${name} `));
  return agents
    .flatMap(({ source_id }, index) => (source_id === null ? [] : [`${names[index]}${source_id}`]))
    .join(', ');
}

const jobStatuses = ({ steps }: SpacePlan): string[] =>
  steps.flatMap(({ job, status }) => (job ? [job.status === 'skipped' ? status : job.status] : []));

/** The columns of tsv. */
export const COLUMNS: readonly Column<SpacePlan>[] = [
  { header: 'SOURCE', value: ({ document }) => document.source, fit: 'start' },
  { header: 'EXTERNAL ID', value: ({ document }) => document.manifest.external_space_id },
  { header: 'SPACE', value: ({ space_id }) => space_id },
  { header: 'STATUS', value: statusOf },
  {
    header: 'AGENTS',
    value: ({ steps }) => countsText(steps.filter(({ op }) => op === 'install_agent').map(({ status }) => status)),
  },
  {
    header: 'NOTE',
    value: ({ error, differences }) =>
      error === undefined
        ? differences.map((each) => `${each.resource} ${each.field}: ${differenceDetail(each)}`).join('; ')
        : errorText(error),
    fit: 'below',
  },
  { header: 'CHAT', value: sourcesText, fit: 'below' },
  { header: 'JOBS', value: (plan) => countsText(jobStatuses(plan)) },
];
