interface Emission<Value> {
  readonly value: Value;
  /** Tells who emitted it that the consumer wants more. */
  readonly release: () => void;
}

/**
 * Yields what `act` emits, as soon as it does. A call of `emit` resolves when the consumer asks for more, or stops. If
 * it stops early, `stop` is called, and `act` still ends before the generator returns: what was sent must be recorded.
 * @throws as `act`
 */
export async function* emitted<Value>(
  act: (emit: (value: Value) => Promise<void>) => Promise<unknown>,
  stop: () => unknown = () => undefined,
): AsyncGenerator<Value, void, void> {
  const emissions: Emission<Value>[] = [];
  let batch: Emission<Value>[] = [];
  let [isDone, isStopped] = [false, false];
  let wake = (): void => undefined;
  const emit = (value: Value): Promise<void> =>
    new Promise((release) => {
      if (isStopped) release();
      emissions.push({ value, release });
      wake();
    });
  const acting = act(emit).finally(() => {
    isDone = true;
    wake();
  });
  // The failure is reported below, once the consumer has taken the values.
  acting.catch(() => undefined);
  try {
    while (!isDone || emissions.length > 0) {
      batch = emissions.splice(0);
      for (const { value, release } of batch) {
        yield value;
        release();
      }
      if (isDone || emissions.length > 0) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    isStopped = true;
    stop();
    for (const { release } of [...batch, ...emissions]) release();
    await acting;
  }
}
