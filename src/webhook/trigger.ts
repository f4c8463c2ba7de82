import * as v from 'valibot';
import type { Clock } from '../clock.ts';
import { PartialFailure, type PartnerctlError, ServiceError } from '../errors.ts';
import { callSandbox, type SandboxAdmin } from './sandbox-admin.ts';

const deliverySchema = v.looseObject({
  delivery_id: v.string(),
  url: v.string(),
  status: v.string(),
  attempts: v.array(v.looseObject({ status: v.nullable(v.number()), error: v.nullable(v.string()) })),
  next_attempt_at: v.nullable(v.string()),
});

const createdSchema = v.looseObject({ deliveries: v.array(deliverySchema) });

/** A delivery of the sandbox, as its admin API returns it. */
export type SandboxDelivery = v.InferOutput<typeof deliverySchema>;

/** What to deliver: a message that the sandbox adds to a session of the source; without a source, a made-up message. */
export interface TriggerRequest {
  readonly source_id?: string;
  readonly session_id?: string;
  readonly text?: string;
  /** Delivers to this URL only, not to the configured webhooks. */
  readonly url?: string;
  readonly secret?: string;
}

/** Longer than the sandbox waits for a receiver. */
const MAX_WAIT_MS = 15_000;
const POLL_MS = 50;

function isAttempted({ status, attempts }: SandboxDelivery): boolean {
  return status !== 'pending' || attempts.length > 0;
}

/** Waits for the first attempt of a delivery, up to 15 seconds. @returns its latest state */
async function waitForAttempt(
  admin: SandboxAdmin,
  delivery: SandboxDelivery,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<SandboxDelivery> {
  const end = clock.monotonic() + MAX_WAIT_MS;
  let current = delivery;
  while (!isAttempted(current) && clock.monotonic() < end) {
    await clock.sleep(POLL_MS, signal);
    const path = `/deliveries/${encodeURIComponent(delivery.delivery_id)}`;
    current = v.parse(deliverySchema, await callSandbox(admin, 'GET', path, { signal }));
  }
  return current;
}

/**
 * Makes the sandbox deliver a message, and waits for the first attempts.
 * @returns one delivery for each webhook that gets the message
 * @throws as `callSandbox`
 */
export async function triggerDeliveries(
  admin: SandboxAdmin,
  trigger: TriggerRequest,
  waiting: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<readonly SandboxDelivery[]> {
  const body = await callSandbox(admin, 'POST', '/deliveries', { body: trigger, signal: waiting.signal });
  const { deliveries } = v.parse(createdSchema, body);
  return Promise.all(deliveries.map((delivery) => waitForAttempt(admin, delivery, waiting)));
}

/** Describes the outcome of the latest attempt. */
export function describeLatestAttempt({ attempts }: SandboxDelivery): string {
  const latest = attempts.at(-1);
  return latest ? (latest.error ?? `responded with ${latest.status}`) : 'not attempted yet';
}

/** Returns the error for deliveries that their receivers did not accept; undefined if all were accepted. */
export function deliveryFailure(deliveries: readonly SandboxDelivery[]): PartnerctlError | undefined {
  const failed = deliveries.filter(({ status }) => status !== 'delivered');
  const [first] = failed;
  if (first === undefined) return undefined;
  const retry =
    first.next_attempt_at === null ? '' : ` The sandbox tries again at ${first.next_attempt_at}, by its own clock.`;
  const info = {
    why: failed
      .map((delivery) => `${delivery.delivery_id} to ${delivery.url}: ${describeLatestAttempt(delivery)}`)
      .join('\n'),
    hint: `Check the receiver.${retry}`,
    details: { deliveries: failed.map(({ delivery_id }) => delivery_id) },
  };
  if (failed.length === deliveries.length) return new ServiceError('The receiver did not accept the delivery.', info);
  return new PartialFailure(`${failed.length} of ${deliveries.length} receivers did not accept the delivery.`, info);
}
