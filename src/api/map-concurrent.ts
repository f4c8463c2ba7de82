/**
 * Runs `act` on every item, at most `concurrency` at a time, and yields each value as soon as it is available. If the
 * consumer stops early, the remaining items are still processed before the generator returns.
 * @param act must not reject. Resolves to the item's value, or to undefined if the `give` of another item supplies it
 */
export async function* mapConcurrent<Item, Value>(
  items: readonly Item[],
  concurrency: number,
  act: (item: Item, index: number, give: (value: Value) => void) => Promise<Value | undefined>,
): AsyncGenerator<Value> {
  const arrived: Value[] = [];
  let wake = (): void => undefined;
  const queue = items.entries();

  function give(value: Value): void {
    arrived.push(value);
    wake();
  }

  async function worker(): Promise<void> {
    // The workers share the iterator: each takes the next item.
    for (const [index, item] of queue) {
      const value = await act(item, index, give);
      if (value !== undefined) give(value);
    }
  }

  const workers = Promise.all(Array.from({ length: concurrency }, worker));
  try {
    for (let yielded = 0; yielded < items.length; ) {
      while (arrived.length === 0)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      const values = arrived.splice(0);
      yielded += values.length;
      yield* values;
    }
  } finally {
    await workers;
  }
}
