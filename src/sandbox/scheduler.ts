import { setTimeout as sleep, setImmediate as yieldToRequests } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Store } from './store/store.ts';

/** Runs a task once, after at least `ms` milliseconds. @returns a function that cancels it */
export type SetTimer = (task: () => void, ms: number) => () => void;

/** The machine's own timers; they keep no process alive. */
export const setProcessTimer: SetTimer = (task, ms) => {
  const timer = setTimeout(task, ms).unref();
  return () => clearTimeout(timer);
};

/** Node's timers cannot wait longer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** While the clock moves, changes are written and other requests are processed after this many tasks. */
const TASKS_PER_STEP = 100;

/** How long one move of the clock may wait for deliveries in all, in real milliseconds. */
const MAX_WAIT_MS = 2_000;

interface ScheduledTask {
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly run: (at: number) => void;
}

/** Tasks by time, then by insertion; at most one for each key. */
export class TaskQueue {
  /** In order of insertion. A key that is set again for the same time keeps its place. */
  readonly #tasks = new Map<string, ScheduledTask>();

  /** Replaces the task of a key; removes it if `at` is undefined. */
  set(key: string, at: number | undefined, run: (at: number) => void): void {
    if (this.#tasks.get(key)?.at !== at) this.#tasks.delete(key);
    if (at !== undefined) this.#tasks.set(key, { key, at, run });
  }

  /** When a key's task is due. */
  at(key: string): number | undefined {
    return this.#tasks.get(key)?.at;
  }

  /** When the next task is due. */
  get nextAt(): number | undefined {
    return this.#first()?.at;
  }

  /** Removes and returns the next task if it is due by `until`. */
  take(until: number): ScheduledTask | undefined {
    const first = this.#first();
    if (!first || first.at > until) return undefined;
    this.#tasks.delete(first.key);
    return first;
  }

  #first(): ScheduledTask | undefined {
    let first: ScheduledTask | undefined;
    for (const task of this.#tasks.values()) if (!first || task.at < first.at) first = task;
    return first;
  }
}

interface SchedulerDeps {
  readonly store: Store;
  /** The machine's clock, in milliseconds since the epoch. */
  readonly machineNow: () => number;
  readonly setTimer: SetTimer;
  readonly closing: AbortSignal;
}

export interface ClockChange {
  readonly frozen?: boolean | undefined;
  /** Returns the time to move to, given the current time, both in milliseconds since the epoch; throws to refuse. */
  readonly target?: ((now: number) => number) | undefined;
}

/**
 * The service's clock, and the tasks scheduled by it.
 *
 * The clock is frozen, or runs at an offset from the machine's. It can be moved ahead; the tasks that are due on the way
 * run in order, each at its own time. The clock is stored with the data, so that no message is in the future after a
 * restart.
 */
export class Scheduler {
  readonly #deps: SchedulerDeps;
  readonly #oneAtATime = pLimit(1);
  #tasks = new TaskQueue();
  /** The time during a move. */
  #movingAt: number | undefined;
  /** Tasks are running; the timer is set when they are done. */
  #isBusy = false;
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  readonly #work = new Set<Promise<void>>();

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
    deps.closing.addEventListener('abort', () => this.#clearTimer(), { once: true });
  }

  /** The current time, in milliseconds since the epoch. */
  now(): number {
    const { store, machineNow } = this.#deps;
    const { frozen_at, offset_ms } = store.world.clock;
    return this.#movingAt ?? frozen_at ?? machineNow() + offset_ms;
  }

  get isFrozen(): boolean {
    return this.#deps.store.world.clock.frozen_at !== null;
  }

  /**
   * Schedules a task, replacing the key's previous one.
   * @param at milliseconds since the epoch; undefined for never
   * @param run receives the time it was scheduled for; the current time may be later
   */
  set(key: string, at: number | undefined, run: (at: number) => void): void {
    this.#tasks.set(key, at, run);
    this.#setTimer();
  }

  /** When a key's task is scheduled. */
  at(key: string): number | undefined {
    return this.#tasks.at(key);
  }

  /**
   * Freezes or unfreezes the clock, then moves it to the target. Changes wait for each other.
   * Resolves when everything due by then has happened and is on disk. A reset ends the move early.
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

  /**
   * Lets a move of the clock wait for work that a task started, so that tasks scheduled by the work run at the right time.
   * A move waits two seconds at most: a receiver that does not respond must not block it.
   * @param work must not reject
   */
  waitFor(work: Promise<void>): void {
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }

  /** Drops all tasks, after a reset deleted the data they refer to. */
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
    let remainingMs = MAX_WAIT_MS;
    try {
      this.#movingAt = this.now();
      for (let arrived = false; !arrived && this.#tasks === tasks && !closing.aborted; ) {
        arrived = this.#step(this.#movingAt ?? target, target, remainingMs > 0);
        await store.durable();
        await yieldToRequests();
        remainingMs -= await this.#waitForWork(remainingMs);
      }
    } finally {
      this.#movingAt = undefined;
      this.#isBusy = false;
    }
  }

  /**
   * Moves the clock part of the way. Stores the clock together with the changes, so that nothing on disk is later than the
   * clock.
   * @param waits whether to stop after a task that started work
   * @returns whether the target is reached
   */
  #step(start: number, target: number, waits: boolean): boolean {
    let now = start;
    let taken = 0;
    const hasWork = (): boolean => waits && this.#work.size > 0;
    for (; taken < TASKS_PER_STEP; taken += 1) {
      const task = this.#tasks.take(hasWork() ? now : target);
      if (!task) break;
      now = Math.max(now, task.at);
      this.#movingAt = now;
      task.run(task.at);
    }
    const arrived = taken < TASKS_PER_STEP && !hasWork();
    this.#movingAt = arrived ? Math.max(now, target) : now;
    this.#storeClock(this.#movingAt, this.isFrozen);
    return arrived;
  }

  /** Waits for the work in progress. @returns how long it waited, in milliseconds */
  async #waitForWork(maxMs: number): Promise<number> {
    if (this.#work.size === 0 || maxMs <= 0) return 0;
    const began = performance.now();
    const ended = new AbortController();
    const timeout = sleep(maxMs, undefined, { signal: ended.signal, ref: false }).catch(() => undefined);
    await Promise.race([Promise.all(this.#work), timeout]);
    ended.abort();
    return performance.now() - began;
  }
}
