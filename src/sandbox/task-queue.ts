export interface ScheduledTask {
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly run: (at: number) => void;
}

/** Tasks in the order of their moments, then of their entry; at most one for each key. */
export class TaskQueue {
  /** In the order of entry. A key that is set again for the same moment keeps its place. */
  readonly #tasks = new Map<string, ScheduledTask>();

  /** Sets the task of a key in place of the former one; without `at` the key has none. */
  set(key: string, at: number | undefined, run: (at: number) => void): void {
    if (this.#tasks.get(key)?.at !== at) this.#tasks.delete(key);
    if (at !== undefined) this.#tasks.set(key, { key, at, run });
  }

  /** The moment of a key's task. */
  at(key: string): number | undefined {
    return this.#tasks.get(key)?.at;
  }

  /** The moment of the next task. */
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
