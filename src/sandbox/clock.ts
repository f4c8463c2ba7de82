import { setImmediate as yieldToRequests } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Store } from './store.ts';

/** Node's timers cannot wait longer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** While the clock moves, changes are written and other requests are processed after this many tasks. */
const TASKS_PER_STEP = 100;

interface Task {
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly run: (at: number) => void;
}

/**
 * The service's clock, and the tasks that wait for it. It is frozen, or runs at an offset from the machine's clock. When it is
 * moved ahead, the tasks on the way run in order, each at its own time. It is stored, so that nothing is in the future after a
 * restart.
 */
export class Clock {
  readonly #store: Store;
  readonly #machineNow: () => number;
  readonly #closing: AbortSignal;
  readonly #oneAtATime = pLimit(1);
  readonly #tasks = new Map<string, Task>();
  readonly #work = new Set<Promise<void>>();
  /** The time during a move. */
  #movingAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store, machineNow: () => number, closing: AbortSignal) {
    this.#store = store;
    this.#machineNow = machineNow;
    this.#closing = closing;
  }

  /** The current time, in milliseconds since the epoch. */
  now(): number {
    const { frozen_at, offset_ms } = this.#store.clock.get() ?? { frozen_at: null, offset_ms: 0 };
    return this.#movingAt ?? frozen_at ?? this.#machineNow() + offset_ms;
  }

  get isFrozen(): boolean {
    return typeof this.#store.clock.get()?.frozen_at === 'number';
  }

  /**
   * Schedules a task, and replaces that of the same key. Tasks of the same time run in the order of scheduling.
   * @param at milliseconds since the epoch
   * @param run gets the time that it was scheduled for; the current time may be later
   */
  schedule(key: string, at: number, run: (at: number) => void): void {
    this.#tasks.delete(key);
    this.#tasks.set(key, { key, at, run });
    this.#setTimer();
  }

  cancel(key: string): void {
    this.#tasks.delete(key);
  }

  /** When a task is due. */
  dueAt(key: string): number | undefined {
    return this.#tasks.get(key)?.at;
  }

  /** Lets a move wait for work that a task started. @param work must not reject */
  waitFor(work: Promise<void>): void {
    this.#work.add(work);
    void work.then(() => this.#work.delete(work));
  }

  /**
   * Freezes or unfreezes the clock, then moves it. Resolves when everything due by then has happened and is on disk. A reset
   * ends the move.
   * @param target returns the time to move to, given the current time, both in milliseconds since the epoch; throws to refuse
   */
  change(frozen: boolean | undefined, target: (now: number) => number): Promise<void> {
    return this.#oneAtATime(async () => {
      const at = target(this.now());
      if (frozen !== undefined && frozen !== this.isFrozen) this.#save(this.now(), frozen);
      await this.#moveTo(at);
      this.#setTimer();
    });
  }

  /** Drops all tasks, and ends a move. The time is what the store says. */
  reset(): void {
    this.#tasks.clear();
    this.#movingAt = undefined;
  }

  #save(now: number, frozen: boolean): void {
    const running = { frozen_at: null, offset_ms: now - this.#machineNow() };
    this.#store.clock.put(frozen ? { frozen_at: now, offset_ms: 0 } : running);
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const at = this.#next()?.at;
    if (at === undefined || this.isFrozen || this.#movingAt !== undefined || this.#closing.aborted) return;
    const wait = Math.min(Math.max(at - this.now(), 0), MAX_TIMER_MS);
    this.#timer = setTimeout(() => this.#runDue(), wait).unref();
  }

  #next(): Task | undefined {
    let next: Task | undefined;
    for (const task of this.#tasks.values()) if (!next || task.at < next.at) next = task;
    return next;
  }

  /** Removes and returns the next task if it is due by then. */
  #take(until: number): Task | undefined {
    const next = this.#next();
    if (!next || next.at > until) return undefined;
    this.#tasks.delete(next.key);
    return next;
  }

  #runDue(): void {
    for (let task = this.#take(this.now()); task; task = this.#take(this.now())) task.run(task.at);
    // After a failed write every response is an error, so this failure does not go unnoticed.
    this.#store.durable().catch(() => undefined);
    this.#setTimer();
  }

  /** Runs the tasks on the way. Stores the clock with their changes, so that nothing on disk is later than the clock. */
  async #moveTo(target: number): Promise<void> {
    this.#movingAt = this.now();
    for (let count = 1; !this.#closing.aborted; count += 1) {
      const task = this.#take(target);
      this.#movingAt = Math.max(this.#movingAt, task?.at ?? target);
      task?.run(task.at);
      if (task && this.#work.size === 0 && count % TASKS_PER_STEP !== 0) continue;
      this.#save(this.#movingAt, this.isFrozen);
      await Promise.all([this.#store.durable(), ...this.#work, yieldToRequests()]);
      // The work may have scheduled a task; a reset ends the move.
      if (this.#movingAt === undefined || (!task && (this.#next()?.at ?? Number.POSITIVE_INFINITY) > target)) break;
    }
    this.#movingAt = undefined;
  }
}
