import { backoffMs } from '../api/retry.ts';
import { DEFAULT_RETRIES } from '../config/global-flags.ts';
import { proxyFor } from '../config/proxy.ts';
import { type PartnerctlError, RefusedError, ServiceError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment } from '../platform/io.ts';
import type { Delivery } from './delivery.ts';
import { findDeliveries, readDelivery } from './saved-delivery.ts';
import { describeRefusal, isAccepted, openTarget, parseTarget, type SendResult, type Target } from './target.ts';

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

/** What a replay needs of a command. */
export interface ReplayContext {
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  /** Ctrl-C or --timeout. */
  readonly abortSignal: AbortSignal;
  /** How often to retry a delivery that the target did not accept. */
  readonly flags: { readonly retries?: number };
}

function toError(result: SendResult, deliveryId: string): PartnerctlError {
  const message = `The target did not accept delivery ${deliveryId}: ${describeRefusal(result)}.`;
  if (result.kind === 'failed') {
    return new ServiceError(message, { hint: 'Check that the program at --forward-to is running.' });
  }
  const info = { status: result.status, hint: 'Check --forward-to, and the logs of the program there.' };
  return result.status >= 500 ? new ServiceError(message, info) : new RefusedError(message, info);
}

/** Whether a retry may help: no response, a 5xx, 408, 425, or 429. */
function isTransient(result: SendResult): boolean {
  return result.kind === 'failed' || result.status >= 500 || [408, 425, 429].includes(result.status);
}

/** Sends a delivery until the target accepts it, or no retry is left. @throws the signal's reason */
async function sendWithRetries(
  delivery: Delivery,
  target: Target,
  { clock, random, abortSignal, flags }: ReplayContext,
): Promise<SendResult> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await target.send(delivery, abortSignal);
    abortSignal.throwIfAborted();
    if (isAccepted(result) || attempt > (flags.retries ?? DEFAULT_RETRIES) || !isTransient(result)) return result;
    await clock.sleep(backoffMs(attempt, random()), abortSignal);
  }
}

/**
 * Sends saved deliveries to a URL, one after the other.
 * @param paths of files, or of directories of them; all are checked before the first is sent
 * @returns the result of each, as it comes
 * @throws UsageError for a URL that is not allowed; InputError for a file that is not a saved delivery
 */
export async function replayDeliveries(
  context: ReplayContext,
  paths: readonly string[],
  forwardTo: string,
): Promise<AsyncGenerator<ReplayResult>> {
  const { abortSignal, env, clock } = context;
  const url = parseTarget(forwardTo);
  const files = await findDeliveries(paths);
  for (const file of files) await readDelivery(file);
  const target = await openTarget(url, proxyFor(url.href, env), clock);

  async function replay(file: string, index: number): Promise<ReplayResult> {
    // Read again, so that memory does not grow with their number.
    const delivery = await readDelivery(file);
    const base = { index, file, delivery_id: delivery.delivery_id, http_status: null };
    if (abortSignal.aborted) return { ...base, status: 'skipped' };
    try {
      const result = await sendWithRetries(delivery, target, context);
      const http_status = result.kind === 'responded' ? result.status : null;
      if (isAccepted(result)) return { ...base, http_status, status: 'sent' };
      return { ...base, http_status, status: 'failed', error: toError(result, base.delivery_id) };
    } catch (error) {
      if (!abortSignal.aborted) throw error;
      return { ...base, status: 'unknown' };
    }
  }
  async function* replayAll(): AsyncGenerator<ReplayResult> {
    try {
      for (const [index, file] of files.entries()) yield await replay(file, index);
    } finally {
      await target.close();
    }
  }
  return replayAll();
}
