/**
 * Yields what `act` emits, as soon as it does. If the consumer stops early, `act` still ends before the generator
 * returns: what was sent must be recorded.
 * @throws as `act`
 */
export async function* emitted<Value>(act: (emit: (value: Value) => void) => Promise<unknown>): AsyncGenerator<Value> {
  const values: Value[] = [];
  let isDone = false;
  let wake = (): void => undefined;
  const acting = act((value) => {
    values.push(value);
    wake();
  }).finally(() => {
    isDone = true;
    wake();
  });
  // The failure is reported below, once the consumer has taken the values.
  acting.catch(() => undefined);
  try {
    while (!isDone || values.length > 0) {
      yield* values.splice(0);
      if (isDone || values.length > 0) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    await acting;
  }
}
