import type { Context } from '../cli/context.ts';
import { proxyFor } from '../config/proxy.ts';
import { type PartnerctlError, RefusedError, ServiceError } from '../errors.ts';
import { type BatchItem, batchFailure } from '../output/batch-failure.ts';
import { countByStatus, formatCounts } from '../output/batch-result.ts';
import { toErrorObject } from '../output/error-object.ts';
import { retryDelayMs } from './forwarding.ts';
import type { SavedDelivery } from './saved-deliveries.ts';
import { readSaved } from './saved-file.ts';
import { describeRefusal, isAccepted, type SendResult, Target } from './target.ts';

/** The outcome of sending a saved delivery. */
export interface ReplayResult {
  /** The position in the input. */
  readonly index: number;
  readonly file: string;
  readonly delivery_id: string;
  /** `unknown`: Ctrl-C came while it was being sent, so it may have arrived. */
  readonly status: 'sent' | 'failed' | 'unknown' | 'skipped';
  /** The HTTP status of the target's last response; null without one. */
  readonly http_status: number | null;
  readonly error?: PartnerctlError;
}

export interface ReplayOptions {
  readonly url: URL;
  /** How often to retry a delivery that the target did not accept. */
  readonly retries: number;
}

function toError(result: SendResult, { delivery_id }: SavedDelivery): PartnerctlError {
  const message = `The target did not accept delivery ${delivery_id}: ${describeRefusal(result)}.`;
  if (result.kind === 'failed') {
    return new ServiceError(message, { hint: 'Check that the program at --forward-to is running.' });
  }
  const { status } = result.response;
  const info = { status, hint: 'Check --forward-to, and the logs of the program there.' };
  return status >= 500 ? new ServiceError(message, info) : new RefusedError(message, info);
}

/** Whether a retry may help: no response, a 5xx, 408, 425, or 429. */
function isTransient(result: SendResult): boolean {
  return result.kind === 'failed' || result.response.status >= 500 || [408, 425, 429].includes(result.response.status);
}

/** Sends a delivery until the target accepts it, or no retry is left. @throws the signal's reason */
async function sendWithRetries(
  context: Context,
  target: Target,
  saved: SavedDelivery,
  retries: number,
): Promise<SendResult> {
  const { clock, random, abortSignal } = context;
  for (let attempt = 1; ; attempt += 1) {
    const result = await target.send(await readSaved(saved.file, saved.bodyPath), { signal: abortSignal });
    abortSignal.throwIfAborted();
    if (isAccepted(result) || attempt > retries || !isTransient(result)) return result;
    await clock.sleep(retryDelayMs(attempt, random()), abortSignal);
  }
}

/** Sends saved deliveries to a target, one after the other, and yields the result of each. */
export async function* replayDeliveries(
  context: Context,
  deliveries: readonly SavedDelivery[],
  { url, retries }: ReplayOptions,
): AsyncGenerator<ReplayResult> {
  const { abortSignal, clock, env, signals } = context;
  const target = new Target(url, proxyFor(url.href, env), clock);
  try {
    for (const [index, saved] of deliveries.entries()) {
      const { file, delivery_id } = saved;
      const base = { index, file, delivery_id, http_status: null };
      if (abortSignal.aborted) {
        yield { ...base, status: 'skipped' };
        continue;
      }
      try {
        const result = await sendWithRetries(context, target, saved, retries);
        const http_status = result.kind === 'responded' ? result.response.status : null;
        if (isAccepted(result)) yield { ...base, http_status, status: 'sent' };
        else yield { ...base, http_status, status: 'failed', error: toError(result, saved) };
      } catch (error) {
        if (!abortSignal.aborted) throw error;
        yield signals.interrupt.aborted
          ? { ...base, status: 'unknown' }
          : { ...base, status: 'failed', error: abortSignal.reason };
      }
    }
  } finally {
    await target.close();
  }
}

/** Counts the deliveries by status, as text. */
export function summarizeReplay(results: readonly ReplayResult[]): string {
  return formatCounts(countByStatus(results, { sent: 0, failed: 0, unknown: 0, skipped: 0 }));
}

/** Converts a result to its JSON form. */
export function replayResultJson({ file, delivery_id, status, http_status, error }: ReplayResult): unknown {
  return { file, delivery_id, status, http_status, error: error ? toErrorObject(error) : null };
}

/**
 * Returns the error of a replay; undefined if every delivery was sent.
 * @param interruption the reason of the interrupt signal
 */
export function replayFailure(results: readonly ReplayResult[], interruption: unknown): PartnerctlError | undefined {
  const items = results.map(
    ({ file, status, error }): BatchItem => ({
      label: file,
      outcome: status === 'sent' ? 'done' : status === 'failed' ? 'failed' : 'skipped',
      error,
    }),
  );
  const isAnyUnknown = results.some(({ status }) => status === 'unknown');
  const unknownNote = isAnyUnknown ? ' Deliveries with status unknown may have arrived.' : '';
  const resumeHint = `Run the command again with the files that were not sent.${unknownNote}`;
  const messages = {
    noun: 'deliveries',
    summary: summarizeReplay(results),
    details: { results: results.map(replayResultJson) },
    resumeHint,
    fixHint: resumeHint,
  };
  return batchFailure(items, messages, interruption);
}
