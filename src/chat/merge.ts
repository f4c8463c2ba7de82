type Source<Value> = AsyncGenerator<Value, void, void>;

type Settled<Value> = { readonly source: Source<Value> } & (
  | { readonly result: IteratorResult<Value, void> }
  | { readonly error: unknown }
);

/**
 * Yields the values of several generators as they come, each at most one ahead. The consumer may add generators while
 * it reads. If it stops, or if a generator fails, `stop` has to end those that wait.
 * @throws the first error of a generator
 */
export async function* merge<Value>(
  sources: readonly Source<Value>[],
  stop: () => void,
): AsyncGenerator<Value, void, void> {
  // Not Promise.race, which costs as much as there are generators for each value.
  const arrived: Settled<Value>[] = [];
  let wake = (): void => undefined;
  const settle = (settled: Settled<Value>): void => {
    arrived.push(settled);
    wake();
  };
  const pull = (source: Source<Value>): void =>
    void source.next().then(
      (result) => settle({ source, result }),
      (error: unknown) => settle({ source, error }),
    );
  let [started, open] = [0, 0];
  try {
    for (;;) {
      for (const source of sources.slice(started)) pull(source);
      open += sources.length - started;
      started = sources.length;
      if (open === 0) return;
      const next = arrived.shift();
      if (!next) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      } else if ('error' in next) throw next.error;
      else if (next.result.done) open -= 1;
      else {
        pull(next.source);
        yield next.result.value;
      }
    }
  } finally {
    // A generator that waits returns only then.
    stop();
    await Promise.allSettled(sources.map((source) => source.return()));
  }
}
