import { setImmediate } from 'node:timers/promises';
import pLimit from 'p-limit';
import { invalidInput } from './input.ts';
import type { Store } from './store.ts';

/** The end of the year 9999: ISO 8601 has no later year of four digits. */
const LAST_TIME = Date.UTC(10_000) - 1;

/** How long `change` runs tasks before other requests have their turn, and before a write to the disk. */
const [TURN_MS, WRITE_MS] = [10, 1_000];

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
  /** The time of the task that `change` runs: the clock stands still in between. */
  #heldAt: number | undefined;

  constructor(store: Store, machineNow: () => number, closing: AbortSignal) {
    this.#store = store;
    this.#machineNow = machineNow;
    this.#closing = closing;
  }

  /** The current time, in milliseconds since the epoch. */
  now(): number {
    const { frozen_at, offset_ms } = this.#store.clock.get() ?? { frozen_at: null, offset_ms: 0 };
    return this.#heldAt ?? frozen_at ?? this.#machineNow() + offset_ms;
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
    this.#tasks.splice(this.#tasks.findLastIndex((task) => task.at <= at) + 1, 0, { at, run });
    this.#setTimer();
  }

  /** Lets `change` wait for work that a task started. @param work must not reject */
  waitFor(work: Promise<unknown>): void {
    this.#work.add(work);
    void work.then(() => this.#work.delete(work));
  }

  /**
   * Freezes or unfreezes the clock, and advances it. The tasks due by then run first, each at its own time. Other
   * requests are answered in between.
   * @throws Problem 422 for a time that the clock cannot show
   */
  change(frozen: boolean | undefined, advanceMs: number): Promise<void> {
    return this.#oneAtATime(async () => {
      const end = this.now() + advanceMs;
      if (end > LAST_TIME) throw invalidInput([{ path: 'advance', message: 'must not lead beyond the year 9999' }]);
      const isFrozenAfter = frozen ?? this.isFrozen;
      this.#hold(this.now());
      try {
        await this.#runUntil(end);
      } finally {
        this.#set(this.#closing.aborted ? this.now() : end, isFrozenAfter);
        this.#heldAt = undefined;
        this.#setTimer();
      }
    });
  }

  async #runUntil(end: number): Promise<void> {
    let [turn, write] = [performance.now(), performance.now()];
    for (;;) {
      // Work may schedule another task on the way.
      await Promise.all(this.#work);
      const task = this.#closing.aborted ? undefined : this.#take(end);
      if (!task) return;
      this.#hold(Math.max(this.now(), task.at));
      task.run();
      const now = performance.now();
      if (now - turn < TURN_MS) continue;
      turn = now;
      await setImmediate();
      if (now - write < WRITE_MS) continue;
      write = now;
      await this.#store.durable();
    }
  }

  #hold(at: number): void {
    this.#heldAt = at;
    this.#set(at, this.isFrozen);
  }

  #set(now: number, frozen: boolean): void {
    const running = { frozen_at: null, offset_ms: now - this.#machineNow() };
    this.#store.clock.put(frozen ? { frozen_at: now, offset_ms: 0 } : running);
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const at = this.#tasks[0]?.at;
    if (at === undefined || this.#heldAt !== undefined || this.#closing.aborted) return;
    if (this.isFrozen && at > this.now()) return;
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
