import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tempDirectory } from './run.ts';
import { AUTHOR, openAt, type TestStore } from './store-adapter.ts';
import type { StoreKind } from './stores.ts';

/* What every kind of store guarantees, whatever engine is behind it: see store-adapter.ts. */

/** Returns functions that open stores of a kind, and close those that were opened. */
function opener(kind: StoreKind) {
  return async (address: string): Promise<TestStore> => await openAt(address, { variables: kind.variables ?? {} });
}

/** The tests that each kind of store has to pass. */
export function describeStore(kind: StoreKind): void {
  const open = opener(kind);

  describe.skipIf(kind.missing)(`The state in ${kind.name}`, () => {
    beforeAll(() => kind.start());
    afterAll(() => kind.stop());

    test('starts empty, and gives each reader all records in one order, with who wrote them', async () => {
      const address = await kind.fresh();
      const [mine, theirs] = [await open(address), await open(address)];
      expect(await mine.ids()).toEqual([]);
      await mine.append({ id: 'z' });
      await theirs.append({ id: 'c' }, { id: 'a' }, { id: 'b' });
      expect(await mine.ids()).toEqual(['z', 'c', 'a', 'b']);
      await mine.append({ id: 'd' });
      for (const store of [mine, theirs]) {
        expect(await store.ids()).toEqual(['z', 'c', 'a', 'b', 'd']);
        expect((await store.notes())[0]).toMatchObject({ id: 'z', by: AUTHOR });
        await store.close();
      }
    });

    test("has each of one writer's concurrent records once", async () => {
      const store = await open(await kind.fresh());
      const ids = Array.from({ length: 60 }, (_, n) => `r${n}`);
      await Promise.all(ids.map((id) => store.append({ id })));
      expect((await store.ids()).toSorted()).toEqual(ids.toSorted());
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
          const views: string[][] = [];
          for (let n = 0; n < 3; n += 1) {
            await store.append({ id: `${writer}-${n}` });
            const view = await store.ids();
            // A writer reads what it appended.
            expect(view).toContain(`${writer}-${n}`);
            views.push(view);
          }
          return views;
        }),
      );
      const reader = await open(address);
      const order = await reader.ids();
      expect(order.toSorted()).toEqual([0, 1, 2].flatMap((w) => [0, 1, 2].map((n) => `${w}-${n}`)));
      // Nobody ever saw a later record before an earlier one.
      for (const view of seen.flat()) expect(view).toEqual(order.slice(0, view.length));
      for (const store of [...stores, reader]) await store.close();
    });

    test('has every record once and in order in a copy, even if that is repeated', async () => {
      const [source, target] = [await open(await kind.fresh()), await open(`${tempDirectory()}/copy.jsonl`)];
      await target.append({ id: 'x' });
      await source.append({ id: 'a' }, { id: 'b' }, { id: 'c' });
      expect(await source.copyTo(target)).toEqual({ copied: 3, present: 0 });
      await source.append({ id: 'd' });
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
      for (const [n, text] of texts.entries()) await mine.append({ id: `r${n}`, text });
      expect((await theirs.notes()).map(({ text }) => text)).toEqual(texts);
      for (const store of [mine, theirs]) await store.close();
    });

    test('has a repeated record once, at its first position', async () => {
      const address = await kind.fresh();
      const [mine, theirs] = [await open(address), await open(address)];
      await mine.append({ id: 'a' }, { id: 'b' });
      await theirs.append({ id: 'c' });
      await theirs.append({ id: 'a' }, { id: 'b' });
      expect(await mine.ids()).toEqual(['a', 'b', 'c']);
      for (const store of [mine, theirs]) await store.close();
    });

    test('can still record what was created after the command was interrupted', async () => {
      const [address, control] = [await kind.fresh(), new AbortController()];
      const interrupted = await openAt(address, { signal: control.signal, variables: kind.variables ?? {} });
      await interrupted.append({ id: 'a' });
      const appending = interrupted.append({ id: 'b' });
      control.abort(new Error('Interrupted.'));
      await appending;
      await interrupted.append({ id: 'c' });
      await interrupted.close();
      const next = await open(address);
      expect(await next.ids()).toEqual(['a', 'b', 'c']);
      await next.close();
    });
  });
}
