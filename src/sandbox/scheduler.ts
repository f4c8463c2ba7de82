import { setImmediate as yieldToRequests } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Store } from './store/store.ts';
import { TaskQueue } from './task-queue.ts';

/** Runs a task once, after at least `ms` milliseconds. @returns a function that cancels it */
export type SetTimer = (task: () => void, ms: number) => () => void;

/** The machine's own timers; they keep no process alive. */
export const setProcessTimer: SetTimer = (task, ms) => {
  const timer = setTimeout(task, ms).unref();
  return () => clearTimeout(timer);
};

/** Node's timers cannot wait longer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A move of the clock runs this many tasks before it writes them to disk and lets other requests in. */
const TASKS_PER_STEP = 100;

interface SchedulerDeps {
  readonly store: Store;
  /** The machine's clock, in milliseconds since the epoch. */
  readonly machineNow: () => number;
  readonly setTimer: SetTimer;
  readonly closing: AbortSignal;
}

export interface ClockChange {
  readonly frozen?: boolean | undefined;
  /** Returns the moment to move to, given the present; it may throw to refuse. Milliseconds since the epoch. */
  readonly target?: ((now: number) => number) | undefined;
}

/**
 * The service's one clock, and the tasks that wait for a moment of it.
 *
 * The clock is frozen, or runs at an offset from the machine's. It can be moved ahead; the tasks that fall due on the way
 * run in order, each at its own moment. The clock is stored with the data, so that after a restart no message is from the
 * future.
 */
export class Scheduler {
  readonly #deps: SchedulerDeps;
  readonly #oneAtATime = pLimit(1);
  #tasks = new TaskQueue();
  /** Where the clock stands during a move. */
  #movingAt: number | undefined;
  /** Tasks are running; the timer is set when they are done. */
  #isBusy = false;
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
    deps.closing.addEventListener('abort', () => this.#clearTimer(), { once: true });
  }

  /** The present, in milliseconds since the epoch. */
  now(): number {
    const { store, machineNow } = this.#deps;
    const { frozen_at, offset_ms } = store.world.clock;
    return this.#movingAt ?? frozen_at ?? machineNow() + offset_ms;
  }

  get isFrozen(): boolean {
    return this.#deps.store.world.clock.frozen_at !== null;
  }

  /**
   * Schedules a task in place of the key's former one.
   * @param at milliseconds since the epoch; undefined for never
   * @param run gets the moment that it was scheduled for; the present may be later
   */
  set(key: string, at: number | undefined, run: (at: number) => void): void {
    this.#tasks.set(key, at, run);
    this.#setTimer();
  }

  /** The moment that a key's task is scheduled for. */
  at(key: string): number | undefined {
    return this.#tasks.at(key);
  }

  /**
   * Freezes or unfreezes the clock, then moves it to the target. Changes wait for each other.
   * @returns when everything that was due by then has happened and is on disk; a reset ends the move early
   */
  change({ frozen, target }: ClockChange): Promise<void> {
    return this.#oneAtATime(async () => {
      if (frozen !== undefined && frozen !== this.isFrozen) this.#storeClock(this.now(), frozen);
      this.#clearTimer();
      try {
        if (target) await this.#moveTo(target(this.now()));
      } finally {
        this.#setTimer();
      }
    });
  }

  /** Drops all tasks, after a reset took away the data that they are about. */
  clear(): void {
    this.#tasks = new TaskQueue();
    this.#movingAt = undefined;
    this.#clearTimer();
  }

  #storeClock(now: number, frozen: boolean): void {
    const { store, machineNow } = this.#deps;
    const clock = frozen
      ? { frozen_at: now, offset_ms: store.world.clock.offset_ms }
      : { frozen_at: null, offset_ms: now - machineNow() };
    store.commit({ kind: 'clock', clock });
  }

  #setTimer(): void {
    const at = this.#tasks.nextAt;
    if (this.#isBusy || this.#timer?.at === at) return;
    this.#clearTimer();
    if (at === undefined || this.isFrozen || this.#deps.closing.aborted) return;
    const wait = Math.min(Math.max(at - this.now(), 0), MAX_TIMER_MS);
    this.#timer = { at, cancel: this.#deps.setTimer(() => this.#runDue(), wait) };
  }

  #clearTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #runDue(): void {
    if (this.#isBusy || this.isFrozen || this.#deps.closing.aborted) return;
    this.#timer = undefined;
    this.#isBusy = true;
    try {
      for (let task = this.#tasks.take(this.now()); task; task = this.#tasks.take(this.now())) task.run(task.at);
    } finally {
      this.#isBusy = false;
    }
    // After a failed write every response is an error, so this failure does not go unnoticed.
    this.#deps.store.durable().catch(() => undefined);
    this.#setTimer();
  }

  async #moveTo(target: number): Promise<void> {
    const { store, closing } = this.#deps;
    const tasks = this.#tasks;
    this.#isBusy = true;
    try {
      this.#movingAt = this.now();
      for (let arrived = false; !arrived && this.#tasks === tasks && !closing.aborted; ) {
        arrived = this.#step(this.#movingAt ?? target, target);
        await store.durable();
        await yieldToRequests();
      }
    } finally {
      this.#movingAt = undefined;
      this.#isBusy = false;
    }
  }

  /**
   * Moves the clock some of the way. The clock is stored together with what happened, so that nothing on disk is from its
   * future.
   * @returns whether it arrived
   */
  #step(start: number, target: number): boolean {
    let now = start;
    let taken = 0;
    for (; taken < TASKS_PER_STEP; taken += 1) {
      const task = this.#tasks.take(target);
      if (!task) break;
      now = Math.max(now, task.at);
      this.#movingAt = now;
      task.run(task.at);
    }
    const arrived = taken < TASKS_PER_STEP;
    this.#movingAt = arrived ? Math.max(now, target) : now;
    this.#storeClock(this.#movingAt, this.isFrozen);
    return arrived;
  }
}
