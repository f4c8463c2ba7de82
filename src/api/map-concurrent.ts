/**
 * Runs `act` on every item, at most `concurrency` at a time, and yields each value as soon as it is available. If the
 * consumer stops early, the remaining items are still processed before the generator returns.
 * @param act must not reject
 */
export async function* mapConcurrent<Item, Value>(
  items: readonly Item[],
  concurrency: number,
  act: (item: Item, index: number) => Promise<Value>,
): AsyncGenerator<Value> {
  const arrived: Value[] = [];
  let wake = (): void => undefined;
  const queue = items.entries();

  async function worker(): Promise<void> {
    // The workers share the iterator: each takes the next item.
    for (const [index, item] of queue) {
      arrived.push(await act(item, index));
      wake();
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
