import { EventEmitter, on } from 'node:events';

/**
 * Yields what `act` emits, as soon as it does. A call of `emit` resolves when the consumer asks for more, or stops. If
 * it stops early, `stop` is called, and `act` still ends before the generator returns: what was sent must be recorded.
 * @throws as `act`
 */
export async function* emitted<Value>(
  act: (emit: (value: Value) => Promise<void>) => Promise<unknown>,
  stop: () => unknown = () => undefined,
): AsyncGenerator<Value, void, void> {
  const events = new EventEmitter();
  const waiting = new Set<() => void>();
  let isStopped = false;
  const emit = (value: Value): Promise<void> =>
    new Promise((release) => {
      if (isStopped) return release();
      waiting.add(release);
      events.emit('value', value, release);
    });
  const values = on(events, 'value', { close: ['end'] });
  const acting = act(emit).finally(() => events.emit('end'));
  // The failure is reported below, once the consumer has taken the values.
  acting.catch(() => undefined);
  try {
    for await (const [value, release] of values) {
      yield value;
      waiting.delete(release);
      release();
    }
  } finally {
    isStopped = true;
    stop();
    for (const release of waiting) release();
    await acting;
  }
}
