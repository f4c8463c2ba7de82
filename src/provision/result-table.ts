import { PartnerctlError } from '../errors.ts';
import type { Column } from '../output/command-result.ts';
import type { DocumentResult } from './result.ts';

function differencesText({ differences }: DocumentResult): string {
  return differences
    .map(
      ({ field, service, manifest }) =>
        `${field} stays ${JSON.stringify(service)}; the manifest has ${JSON.stringify(manifest)}`,
    )
    .join('; ');
}

function countsText(things: readonly { readonly status: string }[]): string {
  const counts = new Map<string, number>();
  for (const { status } of things) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
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
  return why === undefined ? error.message : `${error.message} ${why}`;
}

function plannedText({ action, cron }: DocumentResult): string {
  if (action === 'create') return 'would be created';
  if (action === 'install') return 'agents would be installed';
  return cron.some(({ status }) => status === 'planned') ? 'jobs would be created' : '';
}

function noteText(result: DocumentResult): string {
  if (result.error !== undefined) return errorText(result.error);
  return [plannedText(result), differencesText(result)].filter((part) => part !== '').join('; ');
}

const TONES = {
  created: 'good',
  reused: 'good',
  unchanged: 'dim',
  planned: 'warn',
  failed: 'bad',
  skipped: 'dim',
} as const;

export const COLUMNS: readonly Column<DocumentResult>[] = [
  { header: 'SOURCE', value: ({ source }) => source },
  { header: 'EXTERNAL ID', value: ({ external_space_id }) => external_space_id, noTruncate: true },
  { header: 'SPACE', value: ({ space_id }) => space_id, noTruncate: true },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'AGENTS', value: ({ agents }) => countsText(agents) },
  { header: 'NOTE', value: noteText },
  { header: 'CHAT', value: sourcesText, noTruncate: true },
  { header: 'JOBS', value: ({ cron }) => countsText(cron) },
];
