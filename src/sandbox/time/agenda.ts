/** Something that is to happen at a moment. */
interface Due {
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Breaks ties: what was entered first happens first. */
  readonly order: number;
  readonly task: (at: number) => void;
}

function isLater(one: Due, other: Due): boolean {
  return one.at > other.at || (one.at === other.at && one.order > other.order);
}

/** What is to happen, in the order of its moments; at most one thing for each key. */
export class Agenda {
  /** The latest first, so that the next one is taken from the end. */
  readonly #dues: Due[] = [];
  readonly #byKey = new Map<string, Due>();
  #entered = 0;

  /** Enters what is to happen under the key, in place of what was entered before; nothing where `at` is undefined. */
  set(key: string, at: number | undefined, task: (at: number) => void): void {
    const former = this.#byKey.get(key);
    if (former) this.#dues.splice(this.#positionOf(former), 1);
    this.#byKey.delete(key);
    if (at === undefined) return;
    const due = { key, at, order: former?.at === at ? former.order : this.#entered, task };
    this.#entered += 1;
    this.#byKey.set(key, due);
    this.#dues.splice(this.#positionOf(due), 0, due);
  }

  /** When something is to happen under the key. */
  at(key: string): number | undefined {
    return this.#byKey.get(key)?.at;
  }

  /** The moment of what is next. */
  get next(): number | undefined {
    return this.#dues.at(-1)?.at;
  }

  /** Takes what is next off the agenda, if its moment is `until` or before. */
  take(until: number): Due | undefined {
    const next = this.#dues.at(-1);
    if (!next || next.at > until) return undefined;
    this.#dues.pop();
    this.#byKey.delete(next.key);
    return next;
  }

  /** Where a due stands, or would stand: after all that are later. */
  #positionOf(due: Due): number {
    let low = 0;
    let high = this.#dues.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const there = this.#dues[middle];
      if (there && isLater(there, due)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
