import { afterAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { stateLocation } from '../../../src/state/location.ts';
import type { Log } from '../../../src/state/log.ts';
import { openLog } from '../../../src/state/open-log.ts';
import { propertyRuns } from '../../support/properties.ts';
import { settingsContext, tempDirectory } from '../../support/run.ts';
import { storeKinds } from '../../support/stores.ts';

/* What every kind of store guarantees. `npm test` checks the file, and the slow tests all kinds. */

const AUTHOR = { user: 'ada', pid: process.pid };

/** Opens the store at a URL, as one command of one machine does. */
async function open(address: string, signal = new AbortController().signal) {
  const context = settingsContext();
  const env = { HOME: context.runtime.home, GITHUB_ACTOR: AUTHOR.user };
  const log: Log = await openLog({
    location: stateLocation(context, address),
    env: { ...process.env, ...env },
    clock: systemClock,
    random: Math.random,
    redactor: context.redactor,
    warn: async () => undefined,
    signal,
  });
  return {
    log,
    append: (...ids: readonly string[]) => log.append(ids.map((id) => log.newRecord('note', { id }))),
    ids: async () => (await log.read()).map(({ id }) => id),
  };
}

describe.each(storeKinds().slice(0, propertyRuns(3, 1)))('The state in $name', (kind) => {
  describe.skipIf(kind.missing)('which is installed here', () => {
    afterAll(() => kind.stop());

    test('starts empty, and gives each reader all records in one order, with who wrote them', async () => {
      const address = await kind.fresh();
      const [mine, theirs] = [await open(address), await open(address)];
      expect(await mine.ids()).toEqual([]);
      await mine.append('z');
      await theirs.append('c', 'a', 'b');
      expect(await mine.ids()).toEqual(['z', 'c', 'a', 'b']);
      // A repeated record counts once, at its first position.
      await mine.append('d', 'a');
      for (const { log, ids } of [mine, theirs]) {
        expect(await ids()).toEqual(['z', 'c', 'a', 'b', 'd']);
        expect((await log.read())[0]).toMatchObject({ id: 'z', by: AUTHOR });
        await log.close();
      }
    });

    test('gives concurrent writers one order, which every reader sees', async () => {
      const address = await kind.fresh();
      const stores = await Promise.all(Array.from({ length: 3 }, () => open(address)));
      const seen: string[][] = [];
      const write = async (store: (typeof stores)[number], writer: number): Promise<void> => {
        for (let n = 0; n < 3; n += 1) {
          await store.append(`${writer}-${n}`);
          const view = await store.ids();
          // A writer reads what it appended.
          expect(view).toContain(`${writer}-${n}`);
          seen.push(view);
        }
      };
      await Promise.all(stores.map(write));
      const reader = await open(address);
      const order = await reader.ids();
      expect(order.toSorted()).toEqual([0, 1, 2].flatMap((w) => [0, 1, 2].map((n) => `${w}-${n}`)));
      // Nobody ever saw a later record before an earlier one.
      for (const view of seen) expect(view).toEqual(order.slice(0, view.length));
      for (const { log } of [...stores, reader]) await log.close();
    });

    test('has every record once and in order in a copy, even if that is repeated', async () => {
      const [source, target] = [await open(await kind.fresh()), await open(`${tempDirectory()}/copy.jsonl`)];
      await target.append('x');
      await source.append('a', 'b', 'c');
      expect(await target.log.copyFrom(source.log)).toEqual({ copied: 3, present: 0 });
      await source.append('d');
      expect(await target.log.copyFrom(source.log)).toEqual({ copied: 1, present: 3 });
      expect(await target.ids()).toEqual(['x', 'a', 'b', 'c', 'd']);
      expect(await source.log.copyFrom(target.log)).toEqual({ copied: 1, present: 4 });
      expect(await source.ids()).toEqual(['a', 'b', 'c', 'd', 'x']);
      for (const { log } of [source, target]) await log.close();
    });

    test('returns a record as it was appended: long, in any script, with every control character', async () => {
      const address = await kind.fresh();
      const [{ log: mine }, { log: theirs }] = [await open(address), await open(address)];
      const controls = String.fromCodePoint(...Array.from({ length: 0xa0 }, (_, code) => code));
      const texts = [
        'x'.repeat(100_000),
        '你好 👩‍👩‍👧 \u2028\u2029\ufeff',
        controls,
        "'; drop table x; -- $1 \\ %s",
        '',
      ];
      for (const [n, text] of texts.entries()) await mine.append([mine.newRecord('note', { id: `r${n}`, text })]);
      expect((await theirs.read()).map(({ text }) => text)).toEqual(texts);
      for (const log of [mine, theirs]) await log.close();
    });

    test('can still record what was created after the command was interrupted', async () => {
      const [address, control] = [await kind.fresh(), new AbortController()];
      const interrupted = await open(address, control.signal);
      await interrupted.append('a');
      const appending = interrupted.append('b');
      control.abort(new Error('Interrupted.'));
      await appending;
      await interrupted.append('c');
      await interrupted.log.close();
      const next = await open(address);
      expect(await next.ids()).toEqual(['a', 'b', 'c']);
      await next.log.close();
    });
  });
});
