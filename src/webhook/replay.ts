import { backoffMs, DEFAULT_RETRIES } from '../api/retry.ts';
import { proxyFor } from '../config/proxy.ts';
import { type PartnerctlError, RefusedError, ServiceError, UsageError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment } from '../platform/io.ts';
import type { Delivery } from './delivery.ts';
import { findDeliveries, readDelivery } from './saved-delivery.ts';
import { describeRefusal, isAccepted, parseTarget, type SendResult, Target } from './target.ts';

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

type Saved = Pick<ReplayResult, 'file' | 'delivery_id'>;

/** Sends deliveries one after the other. */
async function* sendAll(
  context: ReplayContext,
  target: Target,
  deliveries: readonly Saved[],
): AsyncGenerator<ReplayResult> {
  const { abortSignal } = context;
  try {
    for (const [index, saved] of deliveries.entries()) {
      const base = { index, ...saved, http_status: null };
      if (abortSignal.aborted) {
        yield { ...base, status: 'skipped' };
        continue;
      }
      const delivery = await readDelivery(saved.file);
      try {
        const result = await sendWithRetries(delivery, target, context);
        const http_status = result.kind === 'responded' ? result.status : null;
        if (isAccepted(result)) yield { ...base, http_status, status: 'sent' };
        else yield { ...base, http_status, status: 'failed', error: toError(result, delivery) };
      } catch (error) {
        if (!abortSignal.aborted) throw error;
        yield { ...base, status: 'unknown' };
      }
    }
  } finally {
    await target.close();
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
  const url = parseTarget(forwardTo);
  if (paths.includes('')) throw new UsageError('The name of a file or directory is empty.');
  const deliveries: Saved[] = [];
  // The bodies are read again when they are sent: memory does not grow with their number.
  for (const file of await findDeliveries(paths)) {
    deliveries.push({ file, delivery_id: (await readDelivery(file)).delivery_id });
  }
  return sendAll(context, new Target(url, proxyFor(url.href, context.env), context.clock), deliveries);
}
