/**
 * The values of promises that never reject, each as soon as it is there. Leaving early still waits for all of them, so
 * that work that has begun is brought to its end also when nobody reads the results any more.
 */
export async function* asSettled<Value>(promises: readonly Promise<Value>[]): AsyncGenerator<Value> {
  const arrived: Value[] = [];
  let wake = (): void => undefined;
  for (const promise of promises) {
    void promise.then((value) => {
      arrived.push(value);
      wake();
    });
  }
  try {
    for (let given = 0; given < promises.length; given += 1) {
      while (arrived.length === given)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      const value = arrived[given];
      if (value !== undefined) yield value;
    }
  } finally {
    await Promise.all(promises);
  }
}
