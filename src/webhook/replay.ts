import { backoffMs } from '../api/retry.ts';
import { type PartnerctlError, RefusedError, ServiceError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Delivery } from './delivery.ts';
import { readDelivery } from './saved-delivery.ts';
import { describeRefusal, isAccepted, type SendResult, type Target } from './target.ts';

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

export interface ReplayDeps {
  readonly clock: Clock;
  readonly random: () => number;
  /** Ctrl-C or --timeout. */
  readonly signal: AbortSignal;
  readonly target: Target;
  /** How often to retry a delivery that the target did not accept. */
  readonly retries: number;
}

function toError(result: SendResult, { delivery_id }: Delivery): PartnerctlError {
  const message = `The target did not accept delivery ${delivery_id}: ${describeRefusal(result)}.`;
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
async function sendWithRetries(delivery: Delivery, deps: ReplayDeps): Promise<SendResult> {
  const { clock, random, signal, target, retries } = deps;
  for (let attempt = 1; ; attempt += 1) {
    const result = await target.send(delivery, signal);
    signal.throwIfAborted();
    if (isAccepted(result) || attempt > retries || !isTransient(result)) return result;
    await clock.sleep(backoffMs(attempt, random()), signal);
  }
}

/**
 * Sends saved deliveries to the target, one after the other, and yields the result of each.
 * @param files as `findDeliveries` returns them; all are checked before the first is sent
 * @throws InputError for a file that is not a saved delivery
 */
export async function* replayDeliveries(files: readonly string[], deps: ReplayDeps): AsyncGenerator<ReplayResult> {
  const { signal, target } = deps;
  const ids: string[] = [];
  // The bodies are read again when they are sent: memory does not grow with their number.
  for (const file of files) ids.push((await readDelivery(file)).delivery_id);
  try {
    for (const [index, file] of files.entries()) {
      const base = { index, file, delivery_id: ids[index] ?? '', http_status: null };
      if (signal.aborted) {
        yield { ...base, status: 'skipped' };
        continue;
      }
      const delivery = await readDelivery(file);
      try {
        const result = await sendWithRetries(delivery, deps);
        const http_status = result.kind === 'responded' ? result.status : null;
        if (isAccepted(result)) yield { ...base, http_status, status: 'sent' };
        else yield { ...base, http_status, status: 'failed', error: toError(result, delivery) };
      } catch (error) {
        if (!signal.aborted) throw error;
        yield { ...base, status: 'unknown' };
      }
    }
  } finally {
    await target.close();
  }
}
