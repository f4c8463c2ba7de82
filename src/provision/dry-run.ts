import type { Http } from '../api/http.ts';
import type { JsonObject } from '../contract/json.ts';
import { type CronSurface, createCronJobs } from './cron.ts';
import { CannotLook, findSpaces, inspectSpace } from './look.ts';
import type { ManifestDocument } from './manifest.ts';
import { type Memory, withMemory } from './memory.ts';
import { agentResult, untouched } from './outcome.ts';
import { planProvision } from './plan.ts';
import type { DocumentResult } from './result.ts';

/** What would be done for a document. @throws CannotLook when the service cannot be asked */
async function planDocument(
  http: Http,
  listed: ReadonlyMap<string, JsonObject>,
  document: ManifestDocument,
  memory: Memory,
): Promise<DocumentResult> {
  const space = listed.get(document.manifest.external_space_id);
  const present = space && withMemory(await inspectSpace(http, space), memory.recall(document.manifest));
  const plan = planProvision(document.manifest, present);
  return {
    ...untouched(document, 'planned'),
    space_id: present?.space_id ?? null,
    status: plan.action === 'none' ? 'unchanged' : 'planned',
    agents: plan.agents.map((agent) => agentResult(agent, agent.present, agent.present ? 'unchanged' : 'planned')),
    differences: plan.differences,
    ...(plan.action !== 'none' && { action: plan.action }),
  };
}

/**
 * What provisioning would do, document by document; only reads are sent.
 * @throws PartnerctlError when the service cannot be asked what is there
 */
export async function* planAll(
  http: Http,
  documents: readonly ManifestDocument[],
  concurrency: number,
  memory: Memory,
  jobs: CronSurface,
): AsyncGenerator<DocumentResult> {
  const { default: pLimit } = await import('p-limit');
  const limit = pLimit(concurrency);
  try {
    const listed = await findSpaces(http, new Set(documents.map(({ manifest }) => manifest.external_space_id)));
    const plan = async (document: ManifestDocument) =>
      createCronJobs(jobs, document, await planDocument(http, listed, document, memory));
    const plans = documents.map((document) => limit(() => plan(document)));
    // Each is awaited in turn; a failure of a later one must not count as unhandled until then.
    for (const each of plans) each.catch(() => undefined);
    for (const each of plans) yield await each;
  } catch (error) {
    throw error instanceof CannotLook ? error.reason : error;
  } finally {
    limit.clearQueue();
  }
}
