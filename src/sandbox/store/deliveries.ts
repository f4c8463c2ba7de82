import type { Delivery, DeliveryAttempt } from './changes.ts';

/** A finished delivery is forgotten once this many have finished after it. */
const MAX_FINISHED = 10_000;

/** `failed`: the last attempt failed. `canceled`: the webhook was deleted. */
export type DeliveryStatus = 'pending' | 'delivered' | 'failed' | 'canceled';

/** A delivery and its attempts. */
export interface DeliveryState {
  readonly delivery: Delivery;
  readonly status: DeliveryStatus;
  readonly attempts: readonly DeliveryAttempt[];
  /** How many of the attempts were made since the delivery was created or replayed. */
  readonly attemptsInRound: number;
  /** Milliseconds since the epoch; null unless pending. */
  readonly nextAttemptAt: number | null;
}

/** All pending deliveries and the newest of the others, in the order of creation. */
export class Deliveries {
  readonly #states = new Map<string, DeliveryState>();
  /** The ids of those that are not pending, in the order of finishing. */
  readonly #finished = new Set<string>();

  add(delivery: Delivery): void {
    const fresh = { status: 'pending', attempts: [], attemptsInRound: 0, nextAttemptAt: delivery.due_at } as const;
    this.#states.set(delivery.delivery_id, { delivery, ...fresh });
  }

  /** @param nextAttemptAt null if this was the last attempt */
  recordAttempt(id: string, attempt: DeliveryAttempt, nextAttemptAt: number | null): void {
    const state = this.#states.get(id);
    if (!state) return;
    const attempts = [...state.attempts, attempt];
    const tried = { ...state, attempts, attemptsInRound: state.attemptsInRound + 1 };
    if (attempt.error === null) this.#finish({ ...tried, status: 'delivered' });
    else if (state.status !== 'pending') this.#states.set(id, tried);
    else if (nextAttemptAt === null) this.#finish({ ...tried, status: 'failed' });
    else this.#states.set(id, { ...tried, nextAttemptAt });
  }

  /** Makes a delivery pending again, with a new round of attempts. */
  replay(id: string, dueAt: number): void {
    const state = this.#states.get(id);
    if (!state) return;
    this.#finished.delete(id);
    this.#states.set(id, { ...state, status: 'pending', attemptsInRound: 0, nextAttemptAt: dueAt });
  }

  /** Ends the pending deliveries to a webhook. */
  cancel(webhookId: string): void {
    for (const state of [...this.#states.values()]) {
      const isOfWebhook = state.delivery.webhook_id === webhookId;
      if (isOfWebhook && state.status === 'pending') this.#finish({ ...state, status: 'canceled' });
    }
  }

  clear(): void {
    this.#states.clear();
    this.#finished.clear();
  }

  get(id: string): DeliveryState | undefined {
    return this.#states.get(id);
  }

  all(): IterableIterator<DeliveryState> {
    return this.#states.values();
  }

  #finish(state: DeliveryState): void {
    const id = state.delivery.delivery_id;
    this.#states.set(id, { ...state, nextAttemptAt: null });
    this.#finished.delete(id);
    this.#finished.add(id);
    const [oldest] = this.#finished;
    if (this.#finished.size <= MAX_FINISHED || oldest === undefined) return;
    this.#finished.delete(oldest);
    this.#states.delete(oldest);
  }
}
