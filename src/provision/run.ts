import { mapConcurrent } from '../api/map-concurrent.ts';
import type { JsonObject } from '../contract/json.ts';
import { InterruptedError, isBalanceTooLow } from '../errors.ts';
import { setUpChats } from './chat.ts';
import { createCronJobs } from './cron.ts';
import { provisionDocument } from './document.ts';
import { CannotLook, findSpaces } from './look.ts';
import type { ManifestDocument } from './manifest.ts';
import { untouched } from './outcome.ts';
import type { DocumentResult } from './result.ts';
import type { Surface } from './surface.ts';

export interface RunOptions {
  readonly concurrency: number;
  /** Whether the first failure keeps the rest from being started. */
  readonly failFast: boolean;
}

/**
 * The first look: which of the spaces are there.
 * @returns undefined when the service cannot be asked
 * @throws PartnerctlError when it could be asked, and failed; nothing was sent then but reads
 */
export async function firstLook(
  http: Surface['http'],
  documents: readonly ManifestDocument[],
  onBlind: Surface['onBlind'],
): Promise<ReadonlyMap<string, JsonObject> | undefined> {
  try {
    return await findSpaces(http, new Set(documents.map(({ manifest }) => manifest.external_space_id)));
  } catch (error) {
    if (!(error instanceof CannotLook)) throw error;
    await onBlind(error);
    return undefined;
  }
}

/** Whether nothing more should be started after a document that failed. 402 would be the answer to everything. */
function endsRun({ error, cron }: DocumentResult, failFast: boolean): boolean {
  // What became of another of its jobs may say more of a document than the failure that stops the run.
  const errors = [error, ...cron.map((job) => job.error)];
  return failFast || errors.some((each) => isBalanceTooLow(each) || each instanceof InterruptedError);
}

/** A document with everything that is to be done for it; a failure is in the result. */
async function outcomeOf(surface: Surface, document: ManifestDocument): Promise<DocumentResult> {
  try {
    const result = await setUpChats(surface.http, document, await provisionDocument(surface, document));
    const sources = result.agents.some(({ source_id }) => source_id !== null);
    if (sources && result.space_id !== null) {
      await surface.memory.record(document.manifest, result.space_id, result.agents);
    }
    return result;
  } catch (error) {
    return { ...untouched(document, 'failed'), error };
  }
}

/**
 * Provisions documents, some at a time, and yields each result as it is there. Failures are results; nothing is thrown.
 * Once it has begun it goes on to the end, also when nobody reads the results any more.
 */
export async function* provisionAll(
  documents: readonly ManifestDocument[],
  surface: Surface,
  { concurrency, failFast }: RunOptions,
): AsyncGenerator<DocumentResult> {
  let stopped = false;

  async function one(document: ManifestDocument): Promise<DocumentResult> {
    const isOff = stopped || surface.interrupt.aborted;
    const installed = isOff ? untouched(document, 'skipped') : await outcomeOf(surface, document);
    const result = await createCronJobs(surface, document, installed);
    if (result.status === 'failed') stopped ||= endsRun(result, failFast);
    return result;
  }
  yield* mapConcurrent(documents, concurrency, one);
}
