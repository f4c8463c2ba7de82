import type { Clock } from '../platform/clock.ts';
import { type Delivery, deliveryIdOf } from './delivery.ts';
import type { ReceivedRequest, ReceiverResponse } from './receiver.ts';
import { removeDelivery, saveDelivery } from './saved-delivery.ts';
import { describeRefusal, isAccepted, type Target } from './target.ts';
import type { Verifier } from './verify.ts';

/** What became of a delivery. */
export interface DeliveryOutcome {
  /** Whether the target accepted it; null if it was not forwarded. */
  readonly forwarded: boolean | null;
  /** The HTTP status of the target's response; null without one. */
  readonly forwardStatus: number | null;
  /** The path of the file with its bytes; null if it is not saved. */
  readonly saved: string | null;
}

/** A delivery, and what became of it. */
export interface HandledDelivery {
  readonly delivery: Delivery;
  readonly outcome: DeliveryOutcome;
}

interface IntakeOptions {
  readonly verifier: Verifier;
  /** The header that identifies a delivery; webhook-id by default. */
  readonly idHeader: string | undefined;
  /** Where to save deliveries; undefined for nowhere. */
  readonly directory: string | undefined;
  /** Where to forward deliveries; undefined for nowhere. */
  readonly target: Target | undefined;
  /** How many deliveries to accept; undefined for any number. */
  readonly exitAfter: number | undefined;
}

interface IntakeDeps {
  readonly clock: Clock;
  /** Cancels the requests to the target. */
  readonly signal: AbortSignal;
  /** Changes a text that contains a secret of this tool. */
  redact(text: string): string;
  /** Called for each delivery, but not for repeats of an accepted one. */
  onDelivery(handled: HandledDelivery): unknown;
  notice(text: string): Promise<void>;
  warn(text: string): Promise<void>;
}

/** How many accepted deliveries are remembered, to drop their repeats. */
const MAX_REMEMBERED = 100_000;

const ACCEPTED: ReceiverResponse = { status: 200 };
/** The sender tries again. */
const BUSY: ReceiverResponse = { status: 503, headers: { 'retry-after': '5' } };

/**
 * Handles each delivery that arrives: verifies it, drops repeats, saves it, forwards it once, and answers the sender as the
 * target does. The sender's repeats are the queue: what the target did not accept comes again.
 */
export class Intake {
  private readonly deps: IntakeDeps;
  private readonly options: IntakeOptions;
  /** The ids of accepted deliveries, the newest last. */
  private readonly known = new Set<string>();
  /** The answers to deliveries that are being handled, by id. */
  private readonly inProgress = new Map<string, Promise<ReceiverResponse>>();
  private accepted = 0;

  constructor(deps: IntakeDeps, options: IntakeOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** How many deliveries were accepted. */
  get count(): number {
    return this.accepted;
  }

  /** Handles a request. @returns the response for the sender */
  async handle({ headers: sent, body }: ReceivedRequest): Promise<ReceiverResponse> {
    const { clock, redact, onDelivery, notice } = this.deps;
    const { verifier, idHeader, exitAfter } = this.options;
    const now = clock.now();
    const verdict = verifier({ headers: sent, body }, now);
    const headers = sent.filter(([, value]) => redact(value) === value);
    const delivery_id = deliveryIdOf(sent, body, idHeader);
    const delivery = { delivery_id, received_at: new Date(now).toISOString(), ...verdict, headers, body };
    // `not-checked`: the user asked for no check.
    if (verdict.verification !== 'verified' && verdict.verification !== 'not-checked') {
      onDelivery({ delivery, outcome: { forwarded: null, forwardStatus: null, saved: null } });
      return { status: 401 };
    }
    const earlier = this.inProgress.get(delivery_id);
    if (earlier || this.known.has(delivery_id)) {
      await notice(`Dropped a repeat of delivery ${delivery_id}.`);
      return earlier ?? ACCEPTED;
    }
    if (exitAfter !== undefined && this.accepted + this.inProgress.size >= exitAfter) return BUSY;
    const response = this.accept(delivery).finally(() => this.inProgress.delete(delivery_id));
    this.inProgress.set(delivery_id, response);
    return response;
  }

  private async accept(delivery: Delivery): Promise<ReceiverResponse> {
    const { directory, target } = this.options;
    const { delivery_id } = delivery;
    let saved: string | null = null;
    try {
      if (directory !== undefined) saved = await saveDelivery(directory, delivery);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      await this.deps.warn(`Delivery ${delivery_id} could not be saved, so the sender got a 500: ${reason}`);
      return { status: 500 };
    }
    if (target) return await this.forward(target, delivery, saved);
    this.remember(delivery_id);
    this.deps.onDelivery({ delivery, outcome: { forwarded: null, forwardStatus: null, saved } });
    return ACCEPTED;
  }

  private async forward(target: Target, delivery: Delivery, saved: string | null): Promise<ReceiverResponse> {
    const { signal, onDelivery, warn } = this.deps;
    const result = await target.send(delivery, signal);
    const forwardStatus = result.kind === 'responded' ? result.status : null;
    if (isAccepted(result)) {
      this.remember(delivery.delivery_id);
      onDelivery({ delivery, outcome: { forwarded: true, forwardStatus, saved } });
      return { status: forwardStatus ?? 200 };
    }
    // The sender's repeat is saved again.
    if (saved !== null) await removeDelivery(saved);
    onDelivery({ delivery, outcome: { forwarded: false, forwardStatus, saved: null } });
    await warn(
      `Delivery ${delivery.delivery_id} was not forwarded: ${describeRefusal(result)}. The sender repeats it.`,
    );
    return { status: result.kind === 'responded' ? result.status : result.isTimeout ? 504 : 502 };
  }

  private remember(id: string): void {
    this.accepted += 1;
    this.known.add(id);
    for (const oldest of this.known) {
      if (this.known.size <= MAX_REMEMBERED) return;
      this.known.delete(oldest);
    }
  }
}
