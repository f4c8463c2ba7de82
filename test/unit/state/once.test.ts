import { expect, it } from 'vitest';
import { LocalError } from '../../../src/errors.ts';
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

it('A reservation that may not have been written sends nothing, and blocks its key', async () => {
  const failure = new LocalError('The disk is full.');
  const lines: string[] = [];
  const none = async (): Promise<undefined> => undefined;
  const driver: LogDriver = {
    label: 'memory',
    load: async () => lines,
    async write(more) {
      lines.push(...more);
      throw failure;
    },
    ...{ prepare: none, check: none, close: none },
  };
  const author = { user: 'ada', host: 'laptop', pid: 1 };
  const log = new Log({ driver, author, clock: { now: () => 0 }, redact: (text) => text });
  let calls = 0;
  const act = async (): Promise<string> => {
    calls += 1;
    return `id_${calls}`;
  };
  const results: Result<Named>[] = [];
  const settled = (_item: unknown, result: Result<Named>): void => void results.push(result);
  const items = ['a', 'b'].map((name) => ({ data: { name } }));
  const deps = { log, clock: fastClock(), signal: new AbortController().signal };
  await expect(createOnce(deps, KIND, items, { act, settled })).rejects.toBe(failure);
  expect(calls).toBe(0);
  expect(results).toEqual([]);
  expect(lines.map((line) => JSON.parse(line).type)).toEqual(['cron.reserved', 'cron.reserved']);
});
