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
  /** The status that the sender got. */
  readonly status: number;
  /** Whether the target accepted it; null if it was not forwarded. */
  readonly forwarded: boolean | null;
  /** The HTTP status of the target's response; null without one. */
  readonly forwardStatus: number | null;
  /** The path of the file with its bytes; null if it is not saved. */
  readonly saved: string | null;
}

/** What receiving needs of a command. */
export interface IntakeContext {
  readonly clock: Clock;
  /** Cancels the requests to the target. */
  readonly abortSignal: AbortSignal;
  /** Changes a text that contains a secret of this tool. */
  redact(text: string): string;
  notice(text: string): Promise<void>;
  warn(text: string): Promise<void>;
}

interface IntakeOptions {
  readonly verifier: Verifier;
  /** The header that identifies a delivery. */
  readonly idHeader: string;
  /** Where to save deliveries; undefined for nowhere. */
  readonly directory: string | undefined;
  /** Where to forward deliveries; undefined for nowhere. */
  readonly target: Target | undefined;
  /** Called for each delivery, but not for repeats of an accepted one. */
  readonly onDelivery: (handled: HandledDelivery) => void;
}

/** How many deliveries are remembered. Then the oldest is forgotten, and a repeat of it is a delivery. */
const MAX_REMEMBERED = 100_000;

const NOT_FORWARDED = { forwarded: null, forwardStatus: null, saved: null };

/**
 * Creates the function that handles each request: it verifies a delivery, drops repeats, saves it, forwards it once,
 * and returns the status of the target for the sender, whose repeats are the queue: what was not accepted comes again.
 */
export function createIntake(
  { clock, abortSignal, redact, notice, warn }: IntakeContext,
  { verifier, idHeader, directory, target, onDelivery }: IntakeOptions,
): (request: ReceivedRequest) => Promise<number> {
  /** The answers to deliveries that are being handled, or were accepted, by id. */
  const answers = new Map<string, Promise<number>>();

  async function forward(delivery: Delivery, to: Target, saved: string | null): Promise<HandledDelivery> {
    const { isAccepted, status, outcome } = await to.send(delivery, abortSignal);
    const handled = { delivery, status: status ?? 502, forwarded: isAccepted, forwardStatus: status, saved };
    if (isAccepted) return handled;
    // The sender's repeat is saved again.
    if (saved !== null) await removeDelivery(saved);
    await warn(`Delivery ${delivery.delivery_id} was not forwarded: ${outcome}. The sender repeats it.`);
    return { ...handled, saved: null };
  }

  async function accept(delivery: Delivery): Promise<number> {
    try {
      const saved = directory === undefined ? null : await saveDelivery(directory, delivery);
      const done = { delivery, status: 200, ...NOT_FORWARDED, saved };
      const handled = target ? await forward(delivery, target, saved) : done;
      onDelivery(handled);
      return handled.status;
    } catch (error) {
      const why = errorMessage(error);
      await warn(`Delivery ${delivery.delivery_id} could not be taken, so the sender got a 500: ${why}`);
      return 500;
    }
  }

  return async function handle({ headers: sent, body }) {
    const now = clock.now();
    const verdict = verifier({ headers: sent, body }, now);
    const headers = sent.filter(([, value]) => redact(value) === value);
    const delivery_id = deliveryIdOf(sent, body, idHeader);
    const delivery = { delivery_id, received_at: new Date(now).toISOString(), ...verdict, headers, body };
    if (verdict.verification === 'failed' || verdict.verification === 'unsigned') {
      onDelivery({ delivery, status: 401, ...NOT_FORWARDED });
      return 401;
    }
    const earlier = answers.get(delivery_id);
    if (earlier) {
      await notice(`Dropped a repeat of delivery ${delivery_id}.`);
      return await earlier;
    }
    const answer = accept(delivery);
    answers.set(delivery_id, answer);
    const [oldest] = answers.keys();
    if (answers.size > MAX_REMEMBERED && oldest !== undefined) answers.delete(oldest);
    const status = await answer;
    if (status >= 300) answers.delete(delivery_id);
    return status;
  };
}
