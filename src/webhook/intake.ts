import type { Clock } from '../clock.ts';
import { type Delivery, deliveryIdOf, keyOf, RecentKeys } from './delivery.ts';
import type { DeliveryOutcome } from './format-delivery.ts';
import type { Forwarding } from './forwarding.ts';
import type { ReceivedRequest, ReceiverResponse } from './receiver.ts';
import type { Spool } from './spool.ts';
import { isAccepted } from './target.ts';
import type { Verifier } from './verify.ts';

export interface IntakeDeps {
  readonly clock: Clock;
  readonly verifier: Verifier;
  /** Whether only verified deliveries are accepted. */
  readonly mustVerify: boolean;
  /** The header that identifies a delivery; webhook-id by default. */
  readonly idHeader: string | undefined;
  /** Undefined if deliveries are not saved. */
  readonly spool: Spool | undefined;
  /** Undefined without a target; needs a spool. */
  readonly forwarding: Forwarding | undefined;
  /** Whether the sender gets the target's response. */
  readonly relaysStatus: boolean;
  /** How many deliveries to accept at most. */
  readonly limit: number;
  /** Whether too many deliveries wait to be printed. */
  isCongested(): boolean;
  /** Whether a text contains a secret of this tool. */
  hasSecret(text: string): boolean;
  /** Called for each new delivery, but not for repeats. */
  onDelivery(delivery: Delivery, outcome: DeliveryOutcome): void;
  /** Called once, when the limit of accepted deliveries is reached. */
  onLimit(): void;
  notice(text: string): Promise<void>;
  warn(text: string): Promise<void>;
}

/** How many deliveries are remembered, to drop their repeats. */
const MAX_REMEMBERED = 100_000;

/** A delivery is printed after the first attempt to forward it, or after this time. In milliseconds. */
const MAX_SHOW_DELAY_MS = 2_000;

/** A delivery in the spool. */
interface SpooledDelivery {
  readonly name: string;
  /** The path for the user; null if the user does not read the directory. */
  readonly path: string | null;
}

const ACCEPTED: ReceiverResponse = { status: 200 };
const BUSY: ReceiverResponse = { status: 503, headers: { 'retry-after': '5' } };

/** Handles each delivery that arrives: verifies it, drops repeats, saves it, and starts to forward it. */
export class Intake {
  private readonly deps: IntakeDeps;
  private readonly known = new RecentKeys(MAX_REMEMBERED);
  /** Deliveries that are being accepted, by key. */
  private readonly inProgress = new Map<string, Promise<ReceiverResponse>>();
  private readonly showing = new Set<Promise<void>>();
  private accepted = 0;
  /** How many deliveries were accepted or are being accepted. */
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

  /** Handles a request. @returns the response for the sender */
  async handle({ headers: sent, body }: ReceivedRequest): Promise<ReceiverResponse> {
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
    const earlier = this.inProgress.get(key);
    if (earlier || this.known.has(key)) {
      await notice(`Dropped a repeat of delivery ${delivery_id}.`);
      return earlier ?? ACCEPTED;
    }
    const response = this.accept(delivery, key).finally(() => this.inProgress.delete(key));
    this.inProgress.set(key, response);
    return response;
  }

  /** Resolves when everything that was accepted is shown. */
  async whenIdle(): Promise<void> {
    await Promise.all(this.showing);
  }

  private async accept(delivery: Delivery, key: string): Promise<ReceiverResponse> {
    const { spool, forwarding, relaysStatus, limit, onDelivery, warn } = this.deps;
    if (this.reserved >= limit) return BUSY;
    this.reserved += 1;
    try {
      const saved = spool && (await this.save(spool, delivery));
      if (saved && forwarding && relaysStatus) return await this.relay(forwarding, saved, delivery, key);
      this.known.add(key);
      if (saved && forwarding) this.forward(forwarding, saved, delivery);
      else onDelivery(delivery, { forwarded: null, forwardStatus: null, saved: saved?.path ?? null });
      this.countAccepted();
      return ACCEPTED;
    } catch (error) {
      this.reserved -= 1;
      const reason = error instanceof Error ? error.message : String(error);
      await warn(`Delivery ${delivery.delivery_id} could not be saved, so the sender got a 500: ${reason}`);
      return { status: 500 };
    }
  }

  private async save(spool: Spool, delivery: Delivery): Promise<SpooledDelivery> {
    const name = await spool.save(delivery, this.deps.forwarding !== undefined);
    return { name, path: spool.bodyPath(name) };
  }

  private countAccepted(): void {
    this.accepted += 1;
    if (this.accepted === this.deps.limit) this.deps.onLimit();
  }

  /** Lets the sender wait for the target's response. The sender repeats a delivery that the target does not accept. */
  private async relay(
    forwarding: Forwarding,
    { name, path }: SpooledDelivery,
    delivery: Delivery,
    key: string,
  ): Promise<ReceiverResponse> {
    const { spool, onDelivery } = this.deps;
    const result = await forwarding.sendOnce(name, delivery);
    if (isAccepted(result)) {
      this.known.add(key);
      onDelivery(delivery, { forwarded: true, forwardStatus: result.response.status, saved: path });
      this.countAccepted();
      return result.response;
    }
    await spool?.discard(name);
    onDelivery(delivery, { forwarded: false, forwardStatus: null, saved: null });
    this.reserved -= 1;
    if (result.kind === 'responded') return result.response;
    return { status: result.isTimeout ? 504 : 502 };
  }

  /** Starts to forward a delivery. Shows it after the first attempt, or earlier if that attempt takes long. */
  private forward(forwarding: Forwarding, { name, path }: SpooledDelivery, delivery: Delivery): void {
    const { clock, onDelivery } = this.deps;
    const isShown = new AbortController();
    const timeout = clock.sleep(MAX_SHOW_DELAY_MS, isShown.signal).then(
      () => null,
      () => null,
    );
    const shown = Promise.race([forwarding.add(name), timeout]).then((status) => {
      isShown.abort();
      onDelivery(delivery, { forwarded: status !== null, forwardStatus: status, saved: path });
      this.showing.delete(shown);
    });
    this.showing.add(shown);
  }
}
