/**
 * Does something with each item, with so many at a time, and yields each value as soon as it is there. Leaving early still
 * brings all of them to their end: what has begun goes on also when nobody reads the results any more.
 * @param act must not reject. It resolves to the value of its item, or to undefined where that is given by another one
 */
export async function* mapConcurrent<Item, Value>(
  items: readonly Item[],
  atOnce: number,
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
    // They share the iterator: each takes the next one that nobody has begun.
    for (const [index, item] of left) {
      const value = await act(item, index, give);
      if (value !== undefined) give(value);
    }
  }

  const workers = Promise.all(Array.from({ length: atOnce }, worker));
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
