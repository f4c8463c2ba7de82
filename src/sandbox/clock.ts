import pLimit from 'p-limit';
import type { Store } from './store.ts';

interface Task {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly run: () => void;
}

/**
 * The service's clock, and the tasks that wait for it. It is frozen, or runs at an offset from the machine's clock. It
 * is stored, so that nothing is in the future after a restart.
 */
export class Clock {
  readonly #store: Store;
  readonly #machineNow: () => number;
  readonly #closing: AbortSignal;
  readonly #oneAtATime = pLimit(1);
  /** By time, and those of the same time in the order of scheduling. */
  readonly #tasks: Task[] = [];
  readonly #work = new Set<Promise<unknown>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store, machineNow: () => number, closing: AbortSignal) {
    this.#store = store;
    this.#machineNow = machineNow;
    this.#closing = closing;
  }

  /** The current time, in milliseconds since the epoch. */
  now(): number {
    const { frozen_at, offset_ms } = this.#store.clock.get() ?? { frozen_at: null, offset_ms: 0 };
    return frozen_at ?? this.#machineNow() + offset_ms;
  }

  /** The current time in ISO 8601. */
  timestamp(): string {
    return new Date(this.now()).toISOString();
  }

  get isFrozen(): boolean {
    return typeof this.#store.clock.get()?.frozen_at === 'number';
  }

  /** Schedules a task. @param at milliseconds since the epoch */
  schedule(at: number, run: () => void): void {
    this.#tasks.push({ at, run });
    this.#tasks.sort((one, other) => one.at - other.at);
    this.#setTimer();
  }

  /** Lets `change` wait for work that a task started. @param work must not reject */
  waitFor(work: Promise<unknown>): void {
    this.#work.add(work);
    void work.then(() => this.#work.delete(work));
  }

  /** Freezes or unfreezes the clock, and advances it. The tasks due by then run first, each at its own time. */
  change(frozen: boolean | undefined, advanceMs: number): Promise<void> {
    return this.#oneAtATime(async () => {
      const isFrozenAfter = frozen ?? this.isFrozen;
      const end = this.now() + advanceMs;
      // Stands still between tasks, so that each has the time that it was scheduled for.
      this.#set(this.now(), true);
      for (;;) {
        // Work may schedule another task on the way.
        await Promise.all(this.#work);
        const task = this.#closing.aborted ? undefined : this.#take(end);
        if (!task) break;
        this.#set(Math.max(this.now(), task.at), true);
        task.run();
      }
      this.#set(end, isFrozenAfter);
      this.#setTimer();
    });
  }

  #set(now: number, frozen: boolean): void {
    const running = { frozen_at: null, offset_ms: now - this.#machineNow() };
    this.#store.clock.put(frozen ? { frozen_at: now, offset_ms: 0 } : running);
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const at = this.#tasks[0]?.at;
    if (at === undefined || (this.isFrozen && at > this.now()) || this.#closing.aborted) return;
    this.#timer = setTimeout(() => this.#runDue(), at - this.now()).unref();
  }

  /** Removes and returns the next task if it is due by then. */
  #take(until: number): Task | undefined {
    const [next] = this.#tasks;
    return next && next.at <= until ? this.#tasks.shift() : undefined;
  }

  #runDue(): void {
    for (let task = this.#take(this.now()); task; task = this.#take(this.now())) task.run();
    // After a failed write every response is an error, so this failure does not go unnoticed.
    this.#store.durable().catch(() => undefined);
    this.#setTimer();
  }
}
