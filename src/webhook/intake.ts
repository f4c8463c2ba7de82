import type { Clock } from '../clock.ts';
import { type Delivery, deliveryIdOf, keyOf, RecentKeys } from './delivery.ts';
import type { Handling } from './format-delivery.ts';
import type { Forwarding } from './forwarding.ts';
import type { ReceivedRequest, ReceiverAnswer } from './receiver.ts';
import type { Spool } from './spool.ts';
import { isTaken } from './target.ts';
import type { Verifier } from './verify.ts';

export interface IntakeDeps {
  readonly clock: Clock;
  readonly verifier: Verifier;
  /** Whether only verified deliveries are accepted. */
  readonly mustVerify: boolean;
  /** The header that identifies a delivery; webhook-id by default. */
  readonly idHeader: string | undefined;
  /** Undefined if nothing is kept on disk. */
  readonly spool: Spool | undefined;
  /** Undefined without a target; needs a spool. */
  readonly forwarding: Forwarding | undefined;
  /** Whether the sender gets the target's answer. */
  readonly relaysStatus: boolean;
  /** How many deliveries to accept at most. */
  readonly limit: number;
  /** Whether too many deliveries wait for the reader of the output. */
  isCongested(): boolean;
  /** Whether a text contains a secret of this tool. */
  hasSecret(text: string): boolean;
  /** Called for each new delivery, but not for repeats. */
  onDelivery(delivery: Delivery, handling: Handling): void;
  /** Called once, when the limit of accepted deliveries is reached. */
  onLimit(): void;
  notice(text: string): Promise<void>;
  warn(text: string): Promise<void>;
}

/** How many deliveries are remembered to recognize their repeats. */
const REMEMBERED = 100_000;

/** How long the output may wait for the first attempt to forward a delivery, in milliseconds. */
const SHOW_AFTER_MS = 2_000;

const ACCEPTED: ReceiverAnswer = { status: 200 };
const BUSY: ReceiverAnswer = { status: 503, headers: { 'retry-after': '5' } };

/** Decides about each delivery that arrives: labels it, drops repeats, keeps it, and has it forwarded. */
export class Intake {
  private readonly deps: IntakeDeps;
  private readonly known = new RecentKeys(REMEMBERED);
  /** Deliveries that are being accepted, by key. */
  private readonly underWay = new Map<string, Promise<ReceiverAnswer>>();
  private readonly showing = new Set<Promise<void>>();
  private accepted = 0;
  private reserved = 0;

  /** @param keys of the deliveries of earlier runs */
  constructor(deps: IntakeDeps, keys: readonly string[]) {
    this.deps = deps;
    for (const key of keys) this.known.add(key);
  }

  /** How many deliveries were accepted. */
  get count(): number {
    return this.accepted;
  }

  /** Takes a request. @returns the answer for the sender */
  async take({ headers: sent, body }: ReceivedRequest): Promise<ReceiverAnswer> {
    const { clock, verifier, mustVerify, idHeader, hasSecret, isCongested, onDelivery, notice } = this.deps;
    if (isCongested()) return BUSY;
    const now = clock.now();
    const verdict = verifier({ headers: sent, body }, now);
    const headers = sent.filter(([, value]) => !hasSecret(value));
    const delivery_id = deliveryIdOf(sent, body, idHeader);
    const delivery = { delivery_id, received_at: new Date(now).toISOString(), ...verdict, headers, body };
    if (mustVerify && verdict.verification !== 'verified') {
      onDelivery(delivery, { forwarded: null, forwardStatus: null, saved: null });
      return { status: 401 };
    }
    const key = keyOf(delivery_id);
    const first = this.underWay.get(key);
    if (first || this.known.has(key)) {
      await notice(`Delivery ${delivery_id} came again, and was dropped.`);
      return first ?? ACCEPTED;
    }
    const answer = this.accept(delivery, key).finally(() => this.underWay.delete(key));
    this.underWay.set(key, answer);
    return answer;
  }

  /** Resolves when everything that was accepted is shown. */
  async settled(): Promise<void> {
    await Promise.all(this.showing);
  }

  private async accept(delivery: Delivery, key: string): Promise<ReceiverAnswer> {
    const { spool, forwarding, relaysStatus, limit, onDelivery, warn } = this.deps;
    if (this.reserved >= limit) return BUSY;
    this.reserved += 1;
    try {
      const name = await spool?.save(delivery, forwarding !== undefined);
      if (relaysStatus && forwarding && name !== undefined) return await this.relay(name, delivery, key);
      this.known.add(key);
      if (name !== undefined && forwarding) this.forward(name, delivery);
      else {
        const saved = name === undefined ? undefined : spool?.bodyPath(name);
        onDelivery(delivery, { forwarded: null, forwardStatus: null, saved: saved ?? null });
      }
      this.countAccepted();
      return ACCEPTED;
    } catch (error) {
      this.reserved -= 1;
      const reason = error instanceof Error ? error.message : String(error);
      await warn(`Delivery ${delivery.delivery_id} was answered with 500, because it could not be saved: ${reason}`);
      return { status: 500 };
    }
  }

  private countAccepted(): void {
    this.accepted += 1;
    if (this.accepted === this.deps.limit) this.deps.onLimit();
  }

  /** Lets the sender wait for the target's answer. The sender repeats a delivery that the target does not take. */
  private async relay(name: string, delivery: Delivery, key: string): Promise<ReceiverAnswer> {
    const { spool, forwarding, onDelivery } = this.deps;
    const result = await forwarding?.sendOnce(name, delivery);
    if (result && isTaken(result)) {
      this.known.add(key);
      onDelivery(delivery, {
        forwarded: true,
        forwardStatus: result.answer.status,
        saved: spool?.bodyPath(name) ?? null,
      });
      this.countAccepted();
      return result.answer;
    }
    await spool?.discard(name);
    onDelivery(delivery, { forwarded: false, forwardStatus: null, saved: null });
    this.reserved -= 1;
    if (result?.kind === 'answered') return result.answer;
    return { status: result?.isTimeout ? 504 : 502 };
  }

  /** Starts to forward a delivery. Shows it after the first attempt, or earlier if that attempt takes long. */
  private forward(name: string, delivery: Delivery): void {
    const { spool, forwarding, clock, onDelivery } = this.deps;
    if (!forwarding) return;
    const saved = spool?.bodyPath(name) ?? null;
    const waiting = new AbortController();
    const late = clock.sleep(SHOW_AFTER_MS, waiting.signal).then(
      () => null,
      () => null,
    );
    const shown = Promise.race([forwarding.add(name), late]).then((status) => {
      waiting.abort();
      onDelivery(delivery, { forwarded: status !== null, forwardStatus: status, saved });
      this.showing.delete(shown);
    });
    this.showing.add(shown);
  }
}
