import { mapConcurrent } from '../api/map-concurrent.ts';
import { createCronJobs } from './create-cron-jobs.ts';
import { stopsRun } from './failure.ts';
import type { ManifestDocument } from './manifest.ts';
import { type ProvisionDeps, provisionOnce } from './provision-once.ts';
import { type DocumentResult, initialResult } from './result.ts';
import { setUpChats } from './set-up-chats.ts';

export interface ApplyOptions {
  /** How many documents at a time. */
  readonly concurrency: number;
  /** Whether the first failure keeps the remaining documents from being started. */
  readonly failFast: boolean;
}

/** Applies a document and sets up its chats. Failures are in the result. */
async function applyWithChats(deps: ProvisionDeps, document: ManifestDocument): Promise<DocumentResult> {
  try {
    const result = await setUpChats(deps.http, document, await provisionOnce(deps, document));
    const hasSources = result.agents.some(({ source_id }) => source_id !== null);
    if (hasSources && result.space_id !== null) {
      await deps.history.record(document.manifest, result.space_id, result.agents);
    }
    return result;
  } catch (error) {
    return { ...initialResult(document, 'failed'), error };
  }
}

/**
 * Applies documents and yields each result when it is complete. Failures are results; it does not throw. Once started, it
 * runs to the end even if the caller stops reading the results.
 */
export async function* applyAll(
  deps: ProvisionDeps,
  documents: readonly ManifestDocument[],
  { concurrency, failFast }: ApplyOptions,
): AsyncGenerator<DocumentResult> {
  let isStopped = false;

  async function applyOne(document: ManifestDocument): Promise<DocumentResult> {
    const isSkipped = isStopped || deps.interrupt.aborted;
    const applied = isSkipped ? initialResult(document, 'skipped') : await applyWithChats(deps, document);
    const result = await createCronJobs(deps, document, applied);
    // The error of the document may hide that one of its jobs failed with an error that stops the run.
    const errors = [result.error, ...result.cron.map(({ error }) => error)];
    if (result.status === 'failed') isStopped ||= failFast || errors.some(stopsRun);
    return result;
  }
  yield* mapConcurrent(documents, concurrency, applyOne);
}
