export interface ScheduledTask {
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly run: (at: number) => void;
}

/** Tasks ordered by time, then by insertion; at most one for each key. */
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
