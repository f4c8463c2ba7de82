import type { Http } from '../api/http.ts';
import type { ManifestDocument } from '../domain/manifest/manifest.ts';
import { planDocument } from './document.ts';
import { CannotLook, findSpaces } from './look.ts';
import type { DocumentResult } from './result.ts';

/**
 * What provisioning would do, document by document; only reads are sent.
 * @throws PartnerctlError when the service cannot be asked what is there
 */
export async function* planAll(
  http: Http,
  documents: readonly ManifestDocument[],
  concurrency: number,
): AsyncGenerator<DocumentResult> {
  const { default: pLimit } = await import('p-limit');
  const limit = pLimit(concurrency);
  try {
    const listed = await findSpaces(http, new Set(documents.map(({ manifest }) => manifest.external_space_id)));
    const plans = documents.map((document) => limit(() => planDocument(http, listed, document)));
    // Each is awaited in turn; a failure of a later one must not count as unhandled until then.
    for (const plan of plans) plan.catch(() => undefined);
    for (const plan of plans) yield await plan;
  } catch (error) {
    throw error instanceof CannotLook ? error.reason : error;
  } finally {
    limit.clearQueue();
  }
}
