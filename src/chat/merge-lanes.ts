interface Arrived<Value> {
  readonly value: Value;
  readonly lane: AsyncGenerator<Value>;
}

/**
 * Yields the values of several lanes as they come; each lane is at most one value ahead. If the consumer stops early, the
 * lanes still run to their ends before the generator returns.
 * @throws the error of the first lane that fails, after the others have ended
 */
export async function* mergeLanes<Value>(lanes: readonly AsyncGenerator<Value>[]): AsyncGenerator<Value> {
  const arrived: Arrived<Value>[] = [];
  const errors: unknown[] = [];
  let running = lanes.length;
  let wake = (): void => undefined;

  async function pull(lane: AsyncGenerator<Value>): Promise<void> {
    try {
      const { done, value } = await lane.next();
      if (done) running -= 1;
      else arrived.push({ value, lane });
    } catch (error) {
      running -= 1;
      errors.push(error);
    }
    wake();
  }

  async function take(): Promise<Arrived<Value> | undefined> {
    while (arrived.length === 0 && running > 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    const next = arrived.shift();
    if (next) void pull(next.lane);
    return next;
  }

  for (const lane of lanes) void pull(lane);
  try {
    for (let next = await take(); next; next = await take()) yield next.value;
  } finally {
    while (await take());
  }
  if (errors.length > 0) throw errors[0];
}
