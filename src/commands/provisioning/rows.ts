import type { Cell, Column } from '../../output/command-result.ts';
import type { SpacePlan, Step } from '../../provision/plan.ts';
import { jobStatus, RESOURCES, statusOf } from './json.ts';
import { differenceDetail, errorText, stepDetail, unmanagedDetail } from './report.ts';

/** The rows of a planned document in tsv: source, op, resource, name, detail, and external_space_id. */
export function planRows({ document, space_id, steps, differences, unmanaged, error }: SpacePlan): Cell[][] {
  const { external_space_id: id } = document.manifest;
  const acted = steps.filter(({ status }) => status === 'planned');
  const rows: Cell[][] = [
    ...(acted.length === 0 && error === undefined ? [['none', 'space', id, space_id]] : []),
    ...acted.map((step) => [step.op, RESOURCES[step.op], step.name, stepDetail(step)]),
    ...differences.map((each) => ['difference', each.resource, each.name, `${each.field}: ${differenceDetail(each)}`]),
    ...unmanaged.map((each) => ['unmanaged', each.resource, each.name, unmanagedDetail(each)]),
    ...(error === undefined ? [] : [['blocked', 'space', id, errorText(error)]]),
  ];
  return rows.map((row) => [document.source, ...row, id]);
}

/** `2 created, 1 unchanged` */
function countsText(steps: readonly Step[], statusIn: (step: Step) => string | undefined): string {
  const statuses = steps.map(statusIn).filter((status) => status !== undefined);
  const count = (wanted: string) => statuses.filter((status) => status === wanted).length;
  return [...new Set(statuses)].map((status) => `${count(status)} ${status}`).join(', ');
}

function noteOf({ error, differences }: SpacePlan): string {
  if (error !== undefined) return errorText(error);
  return differences.map((each) => `${each.resource} ${each.field}: ${differenceDetail(each)}`).join('; ');
}

/** The sources to send messages to; with the names of the agents if there are several. */
function sourcesText({ agents }: SpacePlan): string {
  const sources = agents.filter(({ source_id }) => source_id !== null);
  return sources
    .map(({ wanted, source_id }) => (agents.length === 1 ? source_id : `${wanted.name} ${source_id}`))
    .join(', ');
}

/** The columns of tsv. */
export const COLUMNS: readonly Column<SpacePlan>[] = [
  { header: 'SOURCE', value: ({ document }) => document.source },
  { header: 'EXTERNAL ID', value: ({ document }) => document.manifest.external_space_id },
  { header: 'SPACE', value: ({ space_id }) => space_id },
  { header: 'STATUS', value: statusOf },
  {
    header: 'AGENTS',
    value: ({ steps }) => countsText(steps, ({ op, status }) => (op === 'install_agent' ? status : undefined)),
  },
  { header: 'NOTE', value: noteOf },
  { header: 'CHAT', value: sourcesText },
  { header: 'JOBS', value: ({ steps }) => countsText(steps, jobStatus) },
];
