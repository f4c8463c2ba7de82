import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tempDirectory } from './run.ts';
import { AUTHOR, openAt, reasonOf, type TestStore } from './store-adapter.ts';
import type { StoreKind } from './stores.ts';

/* What every kind of store guarantees, whatever engine is behind it: see store-adapter.ts. */

/** Returns a function that opens stores of a kind. */
function opener(kind: StoreKind): (address: string) => Promise<TestStore> {
  return (address) => openAt(address, { variables: kind.variables ?? {} });
}

/** The tests that each kind of store has to pass. */
export function describeStore(kind: StoreKind): void {
  const open = opener(kind);

  describe.skipIf(kind.missing)(`The state in ${kind.name}`, () => {
    beforeAll(() => kind.start());
    afterAll(() => kind.stop());

    test('starts empty', async () => {
      const store = await open(await kind.fresh());
      expect(await store.ids()).toEqual([]);
      await store.close();
    });

    test('gives each reader the records after those it has read, including those of other writers', async () => {
      const address = await kind.fresh();
      const [mine, theirs] = [await open(address), await open(address)];
      const log = mine.open();
      await log.append({ id: 'a' });
      await theirs.open().append({ id: 'b' });
      expect(await log.newIds()).toEqual(['a', 'b']);
      expect(await log.newIds()).toEqual([]);
      await theirs.open().append({ id: 'c' });
      expect(await log.newIds()).toEqual(['c']);
      expect(await theirs.ids()).toEqual(['a', 'b', 'c']);
      for (const store of [mine, theirs]) await store.close();
    });

    test('records the origin of each record', async () => {
      const store = await open(await kind.fresh());
      await store.open().append({ id: 'a' });
      expect(await store.notes()).toMatchObject([{ id: 'a', by: AUTHOR }]);
      await store.close();
    });

    test("has each of one writer's concurrent records once", async () => {
      const store = await open(await kind.fresh());
      const log = store.open();
      await Promise.all(Array.from({ length: 60 }, (_, n) => log.append({ id: `r${n}` })));
      const order = await store.ids();
      expect(order).toHaveLength(60);
      expect(new Set(order).size).toBe(60);
      await store.close();
    });

    test('rejects a record that is too long before anything is written', async () => {
      const store = await open(await kind.fresh());
      const long = store.open().append({ id: 'long', fill: 'x'.repeat(1024 * 1024) });
      expect(reasonOf(await long.catch((error: unknown) => error))).toContain('bytes');
      expect(await store.ids()).toEqual([]);
      await store.close();
    });
  });
}

/** More tests, which take longer. */
export function describeStoreInDetail(kind: StoreKind): void {
  const open = opener(kind);

  describe.skipIf(kind.missing)(`In detail, the state in ${kind.name}`, () => {
    beforeAll(() => kind.start());
    afterAll(() => kind.stop());

    test('gives concurrent writers one order, which every reader sees', async () => {
      const address = await kind.fresh();
      const stores = await Promise.all(Array.from({ length: 3 }, () => open(address)));
      const seen = await Promise.all(
        stores.map(async (store, writer) => {
          const log = store.open();
          const own: string[] = [];
          for (let n = 0; n < 3; n += 1) {
            await log.append({ id: `${writer}-${n}` });
            own.push(...(await log.newIds()));
            // A writer reads what it appended.
            expect(own).toContain(`${writer}-${n}`);
          }
          return own;
        }),
      );
      const reader = await open(address);
      const order = await reader.ids();
      expect(order.toSorted()).toEqual([0, 1, 2].flatMap((w) => [0, 1, 2].map((n) => `${w}-${n}`)));
      // Nobody ever saw a later record before an earlier one.
      for (const own of seen) expect(own).toEqual(order.slice(0, own.length));
      for (const store of [...stores, reader]) await store.close();
    });

    test('has every record once and in order in a copy, even if that is repeated', async () => {
      const [source, target] = [await open(await kind.fresh()), await open(`${tempDirectory()}/copy.jsonl`)];
      await target.open().append({ id: 'x' });
      await source.appendLines('a', 'b', 'c');
      // As an interrupted copy leaves it.
      await target.appendLines('a');
      expect(await source.copyTo(target)).toEqual({ copied: 2, present: 1 });
      await source.open().append({ id: 'd' });
      expect(await source.copyTo(target)).toEqual({ copied: 1, present: 3 });
      expect(await target.ids()).toEqual(['x', 'a', 'b', 'c', 'd']);
      expect(await target.copyTo(source)).toEqual({ copied: 1, present: 4 });
      expect(await source.ids()).toEqual(['a', 'b', 'c', 'd', 'x']);
      for (const store of [source, target]) await store.close();
    });

    test('returns a record as it was appended: long, in any script, with every control character', async () => {
      const address = await kind.fresh();
      const [mine, theirs] = [await open(address), await open(address)];
      const controls = String.fromCodePoint(...Array.from({ length: 0xa0 }, (_, code) => code));
      const texts = [
        'x'.repeat(100_000),
        'Grüße 你好 👩‍👩‍👧 \u2028\u2029\ufeff',
        controls,
        "'; drop table x; -- $1 \\ %s",
        '',
      ];
      for (const [n, text] of texts.entries()) await mine.open().append({ id: `r${n}`, text });
      expect((await theirs.notes()).map(({ text }) => text)).toEqual(texts);
      for (const store of [mine, theirs]) await store.close();
    });

    test('puts the records of a writer after those of others, even if it has not read them', async () => {
      const address = await kind.fresh();
      const [mine, theirs] = [await open(address), await open(address)];
      const log = mine.open();
      expect(await log.newIds()).toEqual([]);
      for (const id of ['a', 'b', 'c']) await theirs.open().append({ id });
      await log.append({ id: 'd' });
      expect(await log.newIds()).toEqual(['a', 'b', 'c', 'd']);
      expect(await theirs.ids()).toEqual(['a', 'b', 'c', 'd']);
      for (const store of [mine, theirs]) await store.close();
    });

    test('gives each reader its own position, and only the lines that it selects', async () => {
      const store = await open(await kind.fresh());
      const [early, late] = [store.open(), store.open()];
      await early.append({ id: 'a' });
      expect(await early.newIds()).toEqual(['a']);
      await late.append({ id: 'b' });
      expect(await early.newIds()).toEqual(['b']);
      expect(await late.newIds()).toEqual(['a', 'b']);
      expect(await store.open('"id":"b"').newIds()).toEqual(['b']);
      await store.close();
    });

    test('reads lines that were copied twice once, at their first position', async () => {
      const address = await kind.fresh();
      const [mine, theirs] = [await open(address), await open(address)];
      await mine.appendLines('a', 'b');
      await theirs.open().append({ id: 'c' });
      await theirs.appendLines('a', 'b');
      expect(await mine.ids()).toEqual(['a', 'b', 'c']);
      for (const store of [mine, theirs]) await store.close();
    });

    test('has a record that was appended after an interruption once, at the latest after the next command', async () => {
      const [address, home, control] = [await kind.fresh(), tempDirectory(), new AbortController()];
      const variables = kind.variables ?? {};
      const interrupted = await openAt(address, { home, signal: control.signal, variables });
      const log = interrupted.open();
      await log.append({ id: 'a' });
      const appending = log.append({ id: 'b' }, 'a');
      control.abort(new Error('Interrupted.'));
      await Promise.allSettled([appending, log.append({ id: 'c' })]);
      await interrupted.close().catch(() => undefined);
      const next = await openAt(address, { home, variables });
      expect((await next.ids()).toSorted()).toEqual(['a', 'b', 'c']);
      await next.close();
    });
  });
}
