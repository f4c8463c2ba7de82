/**
 * Yields the values of several generators as they come, each at most one ahead. The consumer may add generators to the list
 * while it reads. If it stops, or if a generator fails, `stop` has to end those that wait.
 * @throws the first error of a generator
 */
export async function* merge<Value>(
  sources: readonly AsyncGenerator<Value, void, void>[],
  stop: () => void,
): AsyncGenerator<Value, void, void> {
  const pull = (source: AsyncGenerator<Value, void, void>) =>
    source.next().then(
      (result) => ({ source, result }),
      (error: unknown) => ({ source, error }),
    );
  const pending = new Map<AsyncGenerator<Value, void, void>, ReturnType<typeof pull>>();
  let started = 0;
  try {
    for (;;) {
      for (const source of sources.slice(started)) pending.set(source, pull(source));
      started = sources.length;
      if (pending.size === 0) return;
      const settled = await Promise.race(pending.values());
      if ('error' in settled) throw settled.error;
      const { source, result } = settled;
      pending.delete(source);
      if (result.done) continue;
      pending.set(source, pull(source));
      yield result.value;
    }
  } finally {
    // A generator that waits returns only then.
    stop();
    await Promise.allSettled(sources.map((source) => source.return()));
  }
}
