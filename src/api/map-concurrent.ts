/**
 * Runs `act` on every item, with a limited number at a time, and yields each value as soon as it is available. A consumer
 * that stops early still waits for all items: what has begun continues.
 * @param act must not reject. Resolves to the item's value, or to undefined if another item's `give` provides it
 */
export async function* mapConcurrent<Item, Value>(
  items: readonly Item[],
  concurrency: number,
  act: (item: Item, index: number, give: (value: Value) => void) => Promise<Value | undefined>,
): AsyncGenerator<Value> {
  const arrived: Value[] = [];
  let wake = (): void => undefined;
  const left = items.entries();

  function give(value: Value): void {
    arrived.push(value);
    wake();
  }

  async function worker(): Promise<void> {
    // The workers share the iterator: each takes the next item.
    for (const [index, item] of left) {
      const value = await act(item, index, give);
      if (value !== undefined) give(value);
    }
  }

  const workers = Promise.all(Array.from({ length: concurrency }, worker));
  try {
    for (let given = 0; given < items.length; ) {
      while (arrived.length === 0)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      const values = arrived.splice(0);
      given += values.length;
      yield* values;
    }
  } finally {
    await workers;
  }
}
