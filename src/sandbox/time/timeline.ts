import { setImmediate as breathe } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { ClockRecord } from '../store/clock.ts';
import type { Store } from '../store/store.ts';
import { Agenda } from './agenda.ts';
import type { Schedule } from './schedule.ts';

/** Longer waits are not for timers to keep. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** So many due things happen before other requests get their turn and what happened goes to disk. */
const DUES_AT_A_TIME = 100;

interface Parts {
  readonly store: Store;
  /** The machine's clock, in milliseconds since the epoch. */
  readonly machine: () => number;
  readonly schedule: Schedule;
  readonly closing: AbortSignal;
}

export interface ClockChange {
  readonly frozen?: boolean | undefined;
  /** The moment to go to, given the present; it may throw to refuse. Milliseconds since the epoch. */
  readonly target?: ((now: number) => number) | undefined;
}

/**
 * The one clock of the service, and everything that waits for a moment of it.
 *
 * The clock runs along with the machine's, at a distance, or is frozen. It can be moved on; whatever falls due on the way
 * happens in order, each thing while the clock stands at its moment. The clock is part of the data: what was said in a
 * week that was skipped is not in the future after a restart.
 */
export class Timeline {
  readonly #parts: Parts;
  readonly #changes = pLimit(1);
  #agenda = new Agenda();
  /** Where the clock stands while it is moved. */
  #standsAt: number | undefined;
  /** Something is happening: the timer is set when it is over. */
  #busy = false;
  #timer: { readonly due: number; readonly cancel: () => void } | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    parts.closing.addEventListener('abort', () => this.#disarm(), { once: true });
  }

  /** The present, in milliseconds since the epoch. */
  now(): number {
    const { frozen_at, offset_ms } = this.#clock;
    return this.#standsAt ?? frozen_at ?? this.#parts.machine() + offset_ms;
  }

  get frozen(): boolean {
    return this.#clock.frozen_at !== null;
  }

  /**
   * Has a task run once when its moment has come, in place of the one that had the key.
   * @param at milliseconds since the epoch; undefined for never.
   * @param task is given the moment that it was meant for: the present may be later.
   */
  set(key: string, at: number | undefined, task: (at: number) => void): void {
    this.#agenda.set(key, at, task);
    this.#arm();
  }

  /** The moment that the key's task waits for. */
  at(key: string): number | undefined {
    return this.#agenda.at(key);
  }

  /**
   * Freezes the clock or lets it run on from where it stands, then moves it to the target. Changes wait for each other.
   * @returns when all that was due by then has happened and is on disk. A reset meanwhile ends the way early.
   */
  change({ frozen, target }: ClockChange): Promise<void> {
    return this.#changes(async () => {
      if (frozen !== undefined && frozen !== this.frozen) this.#keep(this.now(), frozen);
      this.#disarm();
      try {
        if (target) await this.#moveTo(target(this.now()));
      } finally {
        this.#arm();
      }
    });
  }

  /** Forgets everything that is to happen; the data that it was about is gone, and what was kept of the clock. */
  clear(): void {
    this.#agenda = new Agenda();
    this.#standsAt = undefined;
    this.#disarm();
  }

  get #clock(): ClockRecord {
    return this.#parts.store.world.clock;
  }

  #keep(now: number, frozen: boolean): void {
    const clock = frozen
      ? { frozen_at: now, offset_ms: this.#clock.offset_ms }
      : { frozen_at: null, offset_ms: now - this.#parts.machine() };
    this.#parts.store.commit({ kind: 'clock', clock });
  }

  #arm(): void {
    const due = this.#agenda.next;
    if (this.#busy || this.#timer?.due === due) return;
    this.#disarm();
    if (due === undefined || this.frozen || this.#parts.closing.aborted) return;
    const wait = Math.min(Math.max(due - this.now(), 0), MAX_TIMER_MS);
    this.#timer = { due, cancel: this.#parts.schedule(() => this.#wake(), wait) };
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #wake(): void {
    if (this.#busy || this.frozen || this.#parts.closing.aborted) return;
    this.#timer = undefined;
    this.#busy = true;
    try {
      for (let due = this.#agenda.take(this.now()); due; due = this.#agenda.take(this.now())) due.task(due.at);
    } finally {
      this.#busy = false;
    }
    // Nobody waits for it: if it cannot be written, every answer from now on says so.
    this.#parts.store.durable().catch(() => undefined);
    this.#arm();
  }

  async #moveTo(target: number): Promise<void> {
    const { store, closing } = this.#parts;
    const agenda = this.#agenda;
    this.#busy = true;
    try {
      this.#standsAt = this.now();
      for (let arrived = false; !arrived && this.#agenda === agenda && !closing.aborted; ) {
        arrived = this.#walk(this.#standsAt ?? target, target);
        await store.durable();
        await breathe();
      }
    } finally {
      this.#standsAt = undefined;
      this.#busy = false;
    }
  }

  /**
   * Goes some of the way. The clock is kept together with what happened, so that nothing on disk is ever from its future.
   * @returns whether it was the rest of the way.
   */
  #walk(start: number, target: number): boolean {
    let here = start;
    let taken = 0;
    for (; taken < DUES_AT_A_TIME; taken += 1) {
      const due = this.#agenda.take(target);
      if (!due) break;
      here = Math.max(here, due.at);
      this.#standsAt = here;
      due.task(due.at);
    }
    const arrived = taken < DUES_AT_A_TIME;
    this.#standsAt = arrived ? Math.max(here, target) : here;
    this.#keep(this.#standsAt, this.frozen);
    return arrived;
  }
}
