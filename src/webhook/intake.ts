import type { Clock } from '../platform/clock.ts';
import { errorMessage } from '../platform/error-code.ts';
import { type Delivery, deliveryIdOf } from './delivery.ts';
import type { ReceivedRequest } from './receiver.ts';
import { removeDelivery, saveDelivery } from './saved-delivery.ts';
import type { Target } from './target.ts';
import type { Verifier } from './verify.ts';

/** A delivery, and what became of it. */
export interface HandledDelivery {
  readonly delivery: Delivery;
  /** Whether the target accepted it; null if it was not forwarded. */
  readonly forwarded: boolean | null;
  /** The HTTP status of the target's response; null without one. */
  readonly forwardStatus: number | null;
  /** The path of the file with its bytes; null if it is not saved. */
  readonly saved: string | null;
}

interface IntakeDeps {
  readonly clock: Clock;
  /** Cancels the requests to the target. */
  readonly abortSignal: AbortSignal;
  readonly verifier: Verifier;
  /** The header that identifies a delivery. */
  readonly idHeader: string;
  /** Where to save deliveries; undefined for nowhere. */
  readonly directory: string | undefined;
  /** Where to forward deliveries; undefined for nowhere. */
  readonly target: Target | undefined;
  /** Changes a text that contains a secret of this tool. */
  redact(text: string): string;
  /** Called for each delivery, but not for repeats of an accepted one. */
  onDelivery(handled: HandledDelivery): unknown;
  notice(text: string): Promise<void>;
  warn(text: string): Promise<void>;
}

/** How many deliveries are remembered. Then the oldest is forgotten, and a repeat of it is a delivery. */
const MAX_REMEMBERED = 100_000;

const NOT_FORWARDED = { forwarded: null, forwardStatus: null, saved: null };

/**
 * Handles each delivery that arrives: verifies it, drops repeats, saves it, forwards it once, and answers the sender as the
 * target does. The sender's repeats are the queue: what the target did not accept comes again.
 */
export class Intake {
  private readonly deps: IntakeDeps;
  /** The answers to deliveries that are being handled, or were accepted, by id. */
  private readonly answers = new Map<string, Promise<number>>();
  /** How many deliveries were accepted. */
  accepted = 0;

  constructor(deps: IntakeDeps) {
    this.deps = deps;
  }

  /** Handles a request. @returns the status for the sender */
  async handle({ headers: sent, body }: ReceivedRequest): Promise<number> {
    const { clock, verifier, idHeader, redact, onDelivery, notice, warn } = this.deps;
    const now = clock.now();
    const verdict = verifier({ headers: sent, body }, now);
    const headers = sent.filter(([, value]) => redact(value) === value);
    const delivery_id = deliveryIdOf(sent, body, idHeader);
    const delivery = { delivery_id, received_at: new Date(now).toISOString(), ...verdict, headers, body };
    // `not-checked`: the user asked for no check.
    if (verdict.verification !== 'verified' && verdict.verification !== 'not-checked') {
      onDelivery({ delivery, ...NOT_FORWARDED });
      return 401;
    }
    const earlier = this.answers.get(delivery_id);
    if (earlier) {
      await notice(`Dropped a repeat of delivery ${delivery_id}.`);
      return await earlier;
    }
    const answer = this.accept(delivery).catch(async (error: unknown) => {
      await warn(`Delivery ${delivery_id} could not be taken, so the sender got a 500: ${errorMessage(error)}`);
      return 500;
    });
    this.answers.set(delivery_id, answer);
    const [oldest] = this.answers.keys();
    if (this.answers.size > MAX_REMEMBERED && oldest !== undefined) this.answers.delete(oldest);
    const status = await answer;
    if (status < 300) this.accepted += 1;
    else this.answers.delete(delivery_id);
    return status;
  }

  private async accept(delivery: Delivery): Promise<number> {
    const { directory, target, abortSignal, onDelivery, warn } = this.deps;
    const { delivery_id } = delivery;
    let saved = directory === undefined ? null : await saveDelivery(directory, delivery);
    if (!target) {
      onDelivery({ delivery, ...NOT_FORWARDED, saved });
      return 200;
    }
    const { isAccepted, status, outcome } = await target.send(delivery, abortSignal);
    if (!isAccepted) {
      // The sender's repeat is saved again.
      if (saved !== null) await removeDelivery(saved);
      saved = null;
      await warn(`Delivery ${delivery_id} was not forwarded: ${outcome}. The sender repeats it.`);
    }
    onDelivery({ delivery, forwarded: isAccepted, forwardStatus: status, saved });
    return status ?? 502;
  }
}
