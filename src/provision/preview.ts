import type { Http } from '../api/http.ts';
import type { ListedSpace } from '../contract/spaces.ts';
import { type CronDeps, createCronJobs } from './create-cron-jobs.ts';
import { type ProvisionHistory, withHistory } from './history.ts';
import type { ManifestDocument } from './manifest.ts';
import { planProvision } from './plan.ts';
import { fetchRemoteState, findSpaces, RemoteStateUnavailable } from './remote-state.ts';
import { agentResult, type DocumentResult, initialResult } from './result.ts';

export interface PreviewDeps extends CronDeps {
  readonly http: Http;
  readonly history: ProvisionHistory;
}

async function previewDocument(
  { http, history }: PreviewDeps,
  document: ManifestDocument,
  listed: ReadonlyMap<string, ListedSpace>,
): Promise<DocumentResult> {
  const { manifest } = document;
  const space = listed.get(manifest.external_space_id);
  const present = space && withHistory(await fetchRemoteState(http, space), history.recall(manifest));
  const plan = planProvision(manifest, present);
  return {
    ...initialResult(document, 'planned'),
    space_id: present?.space_id ?? null,
    status: plan.action === 'none' ? 'unchanged' : 'planned',
    agents: plan.agents.map((agent) => agentResult(agent, agent.present, agent.present ? 'unchanged' : 'planned')),
    differences: plan.differences,
    ...(plan.action !== 'none' && { action: plan.action }),
  };
}

/**
 * Yields what provisioning would do, document by document. Sends only reads.
 * @param concurrency how many documents at a time
 * @throws PartnerctlError if the remote state cannot be read
 */
export async function* previewAll(
  deps: PreviewDeps,
  documents: readonly ManifestDocument[],
  concurrency: number,
): AsyncGenerator<DocumentResult> {
  const { default: pLimit } = await import('p-limit');
  const limit = pLimit(concurrency);
  try {
    const listed = await findSpaces(deps.http, documents, () => deps.history.provesListRead());
    const preview = async (document: ManifestDocument) =>
      createCronJobs(deps, document, await previewDocument(deps, document, listed));
    const previews = documents.map((document) => limit(() => preview(document)));
    // Previews are awaited in order: a later one that fails first must not become an unhandled rejection.
    for (const each of previews) each.catch(() => undefined);
    for (const each of previews) yield await each;
  } catch (error) {
    throw error instanceof RemoteStateUnavailable ? error.reason : error;
  } finally {
    limit.clearQueue();
  }
}
