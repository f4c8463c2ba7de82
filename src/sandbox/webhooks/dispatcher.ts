import TinyQueue from 'tinyqueue';
import type { Scheduler } from '../scheduler.ts';
import { createId } from '../service.ts';
import type { Shape } from '../shapes/shape.ts';
import type { Change, Delivery, Message, Webhook } from '../store/changes.ts';
import type { DeliveryState } from '../store/deliveries.ts';
import type { Store } from '../store/store.ts';
import { eventBody, webhookHeaders } from './event.ts';
import { type SendOutcome, sendWebhook } from './send.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How long to wait after each failed attempt except the last. */
export const RETRY_PAUSES_MS: readonly number[] = [
  SECOND,
  5 * SECOND,
  30 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  8 * HOUR,
];

/** Up to this fraction of a pause is added at random, so that a receiver that recovers does not get everything at once. */
const JITTER = 0.2;

/** Attempts at a time, for each webhook. */
const MAX_IN_FLIGHT = 8;

/** Where an event goes: to a webhook, or to a URL given for this event alone. */
export type Target = Pick<Delivery, 'webhook_id' | 'url' | 'secret'>;

interface DispatcherDeps {
  readonly store: Store;
  readonly scheduler: Scheduler;
  /** The machine's clock, in milliseconds since the epoch. */
  readonly machineNow: () => number;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly shape: Shape;
  readonly closing: AbortSignal;
  readonly attemptTimeoutMs: number;
}

interface Due {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The deliveries for one receiver. Entries whose delivery has another time by now are skipped. */
interface Lane {
  readonly key: string;
  readonly queue: TinyQueue<Due>;
  inFlight: number;
}

/**
 * Delivers completed assistant messages to webhooks (spec §6), each at least once: a delivery is committed together with
 * its message, and attempted until the receiver responds with a 2xx or the last attempt fails.
 *
 * Each receiver has its own lane, so that none waits for another. The service's clock says when an attempt is due; the
 * machine's clock is in the signed timestamp, because receivers compare that with their own.
 */
export class WebhookDispatcher {
  readonly #deps: DispatcherDeps;
  readonly #lanes = new Map<string, Lane>();
  readonly #inFlight = new Set<string>();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** Commits changes together with the deliveries of the messages among them, and starts to deliver. */
  commit(...changes: readonly Change[]): void {
    const messages = changes.flatMap((change) => (change.kind === 'message' ? [change.message] : []));
    const completed = messages.filter(({ role }) => role === 'assistant');
    const deliveries = completed.flatMap((message) =>
      this.targetsOf(message.source_id).map((target) => this.#createDelivery(target, message)),
    );
    this.#commitAll(changes, deliveries);
  }

  /** Commits the changes that add a message to a session, and delivers the message to these targets only. */
  commitTo(targets: readonly Target[], ...changes: readonly Change[]): void {
    const messages = changes.flatMap((change) => (change.kind === 'message' ? [change.message] : []));
    const deliveries = messages.flatMap((message) => targets.map((target) => this.#createDelivery(target, message)));
    this.#commitAll(changes, deliveries);
  }

  /** Delivers a message that is in no session. */
  deliver(targets: readonly Target[], message: Message): void {
    const deliveries = targets.map((target) => ({ ...this.#createDelivery(target, message), message }));
    this.#commitAll([], deliveries);
  }

  /** The webhooks for the messages of a source; without a source, those that are for every source. */
  targetsOf(sourceId: string | undefined): Target[] {
    const { world } = this.#deps.store;
    const isWanted = ({ source_id, events }: Webhook): boolean =>
      (source_id === null || source_id === sourceId) && events.includes('message.completed');
    return [...world.webhooks.values()].filter(isWanted).map(({ webhook_id, url }) => ({ webhook_id, url }));
  }

  /** Attempts a delivery now, with as many retries as a new one. Has no effect during an attempt. */
  replay(id: string): void {
    const { store, scheduler } = this.#deps;
    const state = store.world.deliveries.get(id);
    if (!state || (state.status === 'pending' && this.#inFlight.has(id))) return;
    const due_at = scheduler.now();
    store.commit({ kind: 'delivery_replayed', delivery_id: id, due_at });
    this.#pump(this.#enqueue(state.delivery, due_at));
  }

  /** Resumes the deliveries that were pending when the sandbox last stopped. */
  resume(): void {
    for (const { delivery, nextAttemptAt } of this.#deps.store.world.deliveries.all()) {
      if (nextAttemptAt !== null) this.#enqueue(delivery, nextAttemptAt);
    }
    for (const lane of this.#lanes.values()) this.#pump(lane);
  }

  /** Forgets all waiting deliveries, after a reset deleted them. */
  clear(): void {
    this.#lanes.clear();
  }

  #createDelivery(target: Target, { source_id, session_id, message_id }: Message): Delivery {
    const event = { type: 'message.completed' as const, source_id, session_id, message_id };
    return { delivery_id: createId('dlv'), ...target, ...event, due_at: this.#deps.scheduler.now() };
  }

  #commitAll(changes: readonly Change[], deliveries: readonly Delivery[]): void {
    this.#deps.store.commit(...changes, ...deliveries.map((delivery) => ({ kind: 'delivery' as const, delivery })));
    for (const delivery of deliveries) this.#pump(this.#enqueue(delivery, delivery.due_at));
  }

  #enqueue({ delivery_id, webhook_id, url }: Delivery, at: number): Lane {
    const key = webhook_id ?? url;
    const lane = this.#lanes.get(key) ?? { key, queue: new TinyQueue<Due>([], (a, b) => a.at - b.at), inFlight: 0 };
    this.#lanes.set(key, lane);
    lane.queue.push({ id: delivery_id, at });
    return lane;
  }

  /** The next valid entry of a lane. */
  #nextOf({ queue }: Lane): Due | undefined {
    const { deliveries } = this.#deps.store.world;
    for (;;) {
      const next = queue.peek();
      if (!next || (deliveries.get(next.id)?.nextAttemptAt === next.at && !this.#inFlight.has(next.id))) return next;
      queue.pop();
    }
  }

  /** Attempts the due deliveries of a lane up to its limit, and schedules the rest. */
  #pump(lane: Lane): void {
    const { scheduler, closing } = this.#deps;
    if (closing.aborted || this.#lanes.get(lane.key) !== lane) return;
    let next = this.#nextOf(lane);
    while (next && next.at <= scheduler.now() && lane.inFlight < MAX_IN_FLIGHT) {
      lane.queue.pop();
      this.#start(lane, next.id);
      next = this.#nextOf(lane);
    }
    const at = lane.inFlight < MAX_IN_FLIGHT ? next?.at : undefined;
    scheduler.set(JSON.stringify(['webhook', lane.key]), at, () => this.#pump(lane));
    if (!next && lane.inFlight === 0) this.#lanes.delete(lane.key);
  }

  #start(lane: Lane, id: string): void {
    lane.inFlight += 1;
    this.#inFlight.add(id);
    const attempt = this.#attempt(id).finally(() => {
      lane.inFlight -= 1;
      this.#inFlight.delete(id);
    });
    // After a failed write nothing more is delivered. It does not go unnoticed: every response is then an error.
    const ended = attempt.then(
      () => {
        // Only now: while the attempt is in flight, another pump would skip the entry.
        const at = this.#deps.store.world.deliveries.get(id)?.nextAttemptAt ?? null;
        if (at !== null) lane.queue.push({ id, at });
        this.#pump(lane);
      },
      () => undefined,
    );
    this.#deps.scheduler.waitFor(ended);
  }

  async #attempt(id: string): Promise<void> {
    const { store, scheduler, closing, attemptTimeoutMs } = this.#deps;
    // A receiver must not get a message that a crash could lose.
    await store.durable();
    const state = store.world.deliveries.get(id);
    if (!state || closing.aborted) return;
    const at = new Date(scheduler.now()).toISOString();
    const began = performance.now();
    const outcome = await this.#send(state, { timeoutMs: attemptTimeoutMs, closing });
    if (closing.aborted || store.world.deliveries.get(id)?.delivery !== state.delivery) return;
    const attempt = { at, ...outcome, duration_ms: Math.round(performance.now() - began) };
    const next_attempt_at = this.#nextAttemptAt(state, outcome);
    store.commit({ kind: 'delivery_attempt', delivery_id: id, attempt, next_attempt_at });
    await store.durable();
  }

  #nextAttemptAt({ attemptsInRound }: DeliveryState, { error }: SendOutcome): number | null {
    const pause = RETRY_PAUSES_MS[attemptsInRound];
    if (error === null || pause === undefined) return null;
    return this.#deps.scheduler.now() + Math.round(pause * (1 + JITTER * this.#deps.random()));
  }

  async #send({ delivery }: DeliveryState, limits: { timeoutMs: number; closing: AbortSignal }): Promise<SendOutcome> {
    const { store, scheduler, machineNow, shape } = this.#deps;
    const { world } = store;
    const { delivery_id, webhook_id, secret } = delivery;
    const message = delivery.message ?? world.findMessage(delivery);
    if (!message) return { status: null, error: 'The message no longer exists.' };
    const webhook = webhook_id === null ? undefined : world.webhooks.get(webhook_id);
    const now = scheduler.now();
    const valid = webhook?.secrets.filter(({ expires_at }) => expires_at === null || expires_at > now) ?? [];
    const secrets = secret === undefined ? valid.map((each) => each.secret) : [secret];
    const body = eventBody(shape, message);
    const headers = await webhookHeaders({ id: delivery_id, sentAt: machineNow(), body }, secrets);
    return sendWebhook({ url: webhook?.url ?? delivery.url, headers, body }, limits);
  }
}
