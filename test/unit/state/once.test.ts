import { expect, it } from 'vitest';
import { LocalError, StateUnavailableError } from '../../../src/errors.ts';
import { Log, type LogDriver } from '../../../src/state/log.ts';
import { createOnce, type Result } from '../../../src/state/once.ts';
import type { OnceKind } from '../../../src/state/standing.ts';
import { fastClock } from '../../support/run.ts';

type Named = { readonly name: string };

const KIND: OnceKind<Named> = {
  type: 'cron',
  decode: ({ name }) => (typeof name === 'string' ? { name } : undefined),
  keyOf: ({ name }) => name,
};

/** Creates two objects in a log whose reads and writes, counted from 1, may fail. */
async function createWith(failing: { read?(count: number): void; write?(count: number): void }) {
  const lines: string[] = [];
  let [reads, writes] = [0, 0];
  const driver: LogDriver = {
    label: 'memory',
    async load() {
      reads += 1;
      failing.read?.(reads);
      return lines;
    },
    async write(more) {
      lines.push(...more);
      writes += 1;
      failing.write?.(writes);
    },
    prepare: async () => undefined,
    check: async () => undefined,
    close: async () => undefined,
  };
  const author = { user: 'ada', host: 'laptop', pid: 1, version: '0.0.0' };
  const log = new Log({ driver, author, clock: { now: () => 0 }, redact: (text) => text });
  const results: Result<Named>[] = [];
  let sent = 0;
  const items = ['a', 'b'].map((name) => ({ data: { name } }));
  const creating = createOnce({ log, clock: fastClock(), signal: new AbortController().signal }, KIND, items, {
    act: async () => {
      sent += 1;
      return `id_${sent}`;
    },
    settled: (_, result) => void results.push(result),
  });
  const error = await creating.catch((thrown: unknown) => thrown);
  return { error, results, sent, types: lines.map((line) => JSON.parse(line).type) };
}

const gone = new StateUnavailableError('The database cannot be reached.');

it.each([
  [
    'is not read back',
    {
      read: () => {
        throw gone;
      },
    },
  ],
  [
    'may not have been written',
    {
      read: () => {
        throw gone;
      },
      write: () => {
        throw gone;
      },
    },
  ],
])(
  'A reservation that %s, because the log cannot be reached, may block its key: nothing is sent, and the result says so',
  async (_, failing) => {
    const { error, results, sent, types } = await createWith(failing);
    expect(error).toBe(gone);
    expect(sent).toBe(0);
    expect(types).toEqual(['cron.reserved', 'cron.reserved']);
    expect(results).toEqual([1, 2].map(() => ({ kind: 'failed', error: gone, unreleased: gone })));
  },
);

it('A reservation that a log refused blocks nothing, and is released in case it arrived', async () => {
  const full = new LocalError('The disk is full.');
  const { error, results, sent, types } = await createWith({
    write(count) {
      if (count === 1) throw full;
    },
  });
  expect(error).toBe(full);
  expect({ results, sent }).toEqual({ results: [], sent: 0 });
  expect(types.slice(2)).toEqual(['cron.released', 'cron.released']);
});
