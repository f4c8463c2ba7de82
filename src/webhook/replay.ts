import { type PartnerctlError, ServiceError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import { findDeliveries, readDelivery } from './saved-delivery.ts';
import { openTarget, parseTarget } from './target.ts';

export interface ReplayResult {
  readonly index: number;
  readonly file: string;
  readonly delivery_id: string;
  /** `skipped`: the command was interrupted before. */
  readonly status: 'sent' | 'failed' | 'skipped';
  /** The HTTP status of the target's response; null without one. */
  readonly http_status: number | null;
  readonly error?: PartnerctlError | undefined;
}

/**
 * Sends saved deliveries to a URL, one after the other.
 * @param paths of files, or of directories of them; all are checked before the first is sent
 * @returns the result of each, as it comes
 * @throws UsageError for a URL that is not allowed; InputError for a file that is not a saved delivery
 */
export async function replayDeliveries(
  { abortSignal, env }: { readonly env: Environment; readonly abortSignal: AbortSignal },
  paths: readonly string[],
  forwardTo: string,
): Promise<AsyncGenerator<ReplayResult>> {
  const url = parseTarget(forwardTo);
  const files = await findDeliveries(paths);
  for (const file of files) await readDelivery(file);
  const target = await openTarget(url, env);

  async function replay(file: string, index: number): Promise<ReplayResult> {
    // Read again, so that memory does not grow with their number.
    const delivery = await readDelivery(file);
    const { delivery_id } = delivery;
    if (abortSignal.aborted) return { index, file, delivery_id, status: 'skipped', http_status: null };
    const { isAccepted, status: http_status, outcome } = await target.send(delivery, abortSignal);
    if (isAccepted) return { index, file, delivery_id, status: 'sent', http_status };
    const hint = 'Check --forward-to, and the program there.';
    const error = new ServiceError(`The target did not accept delivery ${delivery_id}: ${outcome}.`, { hint });
    return { index, file, delivery_id, status: 'failed', http_status, error };
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
