import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyRecords } from '../../src/state/copy-records.ts';
import { encodeRecord, type NewRecord } from '../../src/state/record.ts';
import { type RecordStore, readStore, type StateStore, type StoreEntry } from '../../src/state/store.ts';
import { tempDirectory } from './run.ts';
import { openAt, type StoreKind } from './stores.ts';

const record = (id: string): NewRecord => ({ type: 'note', at: '2026-01-01T00:00:00.000Z', id });
const OTHER = { kind: 'other' } as const;

function idOf(entry: StoreEntry): string {
  return entry.kind === 'record' ? entry.record.id : entry.kind;
}

async function newIds(log: RecordStore): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of log.readNew()) found.push(idOf(entry));
  return found;
}

async function allIds(store: StateStore): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of readStore(store)) found.push(idOf(entry));
  return found;
}

/** Returns a function that opens stores of a kind. */
function opener(kind: StoreKind): (address: string, home?: string) => Promise<StateStore> {
  return (address, home = tempDirectory()) => openAt(address, home, undefined, kind.variables);
}

/** The tests that each kind of store has to pass. */
export function describeStore(kind: StoreKind): void {
  const open = opener(kind);

  describe.skipIf(kind.missing)(`the state in ${kind.name}`, () => {
    beforeAll(() => kind.start());
    afterAll(() => kind.stop());

    test('starts empty', async () => {
      const store = await open(await kind.fresh());
      expect(await allIds(store)).toEqual([]);
      await store.close();
    });

    test('gives each reader the records after those it has read, including those of other writers', async () => {
      const address = await kind.fresh();
      const [mine, theirs] = [await open(address), await open(address)];
      const log = mine.open();
      await log.append(record('a'), OTHER);
      await theirs.open().append(record('b'), OTHER);
      expect(await newIds(log)).toEqual(['a', 'b']);
      expect(await newIds(log)).toEqual([]);
      await theirs.open().append(record('c'), OTHER);
      expect(await newIds(log)).toEqual(['c']);
      expect(await allIds(theirs)).toEqual(['a', 'b', 'c']);
      for (const store of [mine, theirs]) await store.close();
    });

    test('records the origin of each record', async () => {
      const store = await open(await kind.fresh());
      await store.open().append(record('a'), OTHER);
      for await (const entry of readStore(store)) {
        expect(entry).toMatchObject({ record: { id: 'a', by: { user: 'ada', host: 'laptop', version: '0.0.0' } } });
      }
      await store.close();
    });

    test("has each of one writer's concurrent records once", async () => {
      const store = await open(await kind.fresh());
      const log = store.open();
      await Promise.all(Array.from({ length: 60 }, (_, n) => log.append(record(`r${n}`), OTHER)));
      const order = await allIds(store);
      expect(order).toHaveLength(60);
      expect(new Set(order).size).toBe(60);
      await store.close();
    });

    test('rejects a record that is too long before anything is written', async () => {
      const address = await kind.fresh();
      const store = await open(address);
      const long = { ...record('long'), fill: 'x'.repeat(1024 * 1024) };
      await expect(store.open().append(long, OTHER)).rejects.toMatchObject({
        info: { why: expect.stringContaining('bytes') },
      });
      expect(await allIds(store)).toEqual([]);
      await store.close();
    });
  });
}

/** More tests, which take longer. */
export function describeStoreInDetail(kind: StoreKind): void {
  const open = opener(kind);

  describe.skipIf(kind.missing)(`in detail, the state in ${kind.name}`, () => {
    beforeAll(() => kind.start());
    afterAll(() => kind.stop());

    test('gives concurrent writers one order, which every reader sees', async () => {
      const address = await kind.fresh();
      const stores = await Promise.all(Array.from({ length: 3 }, () => open(address)));
      const seen: string[][] = [];
      await Promise.all(
        stores.map(async (store, writer) => {
          const log = store.open();
          const own: string[] = [];
          for (let n = 0; n < 3; n += 1) {
            await log.append(record(`${writer}-${n}`), OTHER);
            own.push(...(await newIds(log)));
            // A writer reads what it appended.
            expect(own).toContain(`${writer}-${n}`);
          }
          seen.push(own);
        }),
      );
      const order = await allIds(stores[0] as StateStore);
      expect([...order].sort()).toEqual([0, 1, 2].flatMap((w) => [0, 1, 2].map((n) => `${w}-${n}`)).sort());
      // Nobody ever saw a later record before an earlier one.
      for (const own of seen) expect(own).toEqual(order.slice(0, own.length));
      await Promise.all(stores.map((store) => store.close()));
    });

    test('has every record once and in order in a copy, even if that is repeated', async () => {
      const [from, to] = [await kind.fresh(), `${tempDirectory()}/copy.jsonl`];
      const [source, target] = [await open(from), await open(to)];
      await target.open().append(record('x'), OTHER);
      for (const id of ['a', 'b', 'c']) await source.open().append(record(id), OTHER);
      // As an interrupted copy leaves it.
      for await (const entry of readStore(source)) {
        if (entry.kind === 'record' && entry.record.id === 'a') await target.appendLines([encodeRecord(entry.record)]);
      }
      expect(await copyRecords(source, target)).toEqual({ copied: 2, present: 1 });
      await source.open().append(record('d'), OTHER);
      expect(await copyRecords(source, target)).toEqual({ copied: 1, present: 3 });
      expect(await allIds(target)).toEqual(['x', 'a', 'b', 'c', 'd']);
      expect(await copyRecords(target, source)).toEqual({ copied: 1, present: 4 });
      expect(await allIds(source)).toEqual(['a', 'b', 'c', 'd', 'x']);
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
      for (const [n, text] of texts.entries()) {
        const whole = { ...record(`r${n}`), text };
        await mine.open().append(whole, OTHER);
      }
      const read: unknown[] = [];
      for await (const entry of readStore(theirs)) read.push(entry.kind === 'record' ? entry.record.text : entry.kind);
      expect(read).toEqual(texts);
      for (const store of [mine, theirs]) await store.close();
    });

    test('puts the records of a writer after those of others, even if it has not read them', async () => {
      const address = await kind.fresh();
      const [mine, theirs] = [await open(address), await open(address)];
      const log = mine.open();
      expect(await newIds(log)).toEqual([]);
      for (const id of ['a', 'b', 'c']) await theirs.open().append(record(id), OTHER);
      await log.append(record('d'), OTHER);
      expect(await newIds(log)).toEqual(['a', 'b', 'c', 'd']);
      expect(await newIds(theirs.open())).toEqual(['a', 'b', 'c', 'd']);
      for (const store of [mine, theirs]) await store.close();
    });

    test('gives each reader its own position, and only the lines that it selects', async () => {
      const store = await open(await kind.fresh());
      const [early, late] = [store.open(), store.open()];
      await early.append(record('a'), OTHER);
      expect(await newIds(early)).toEqual(['a']);
      await late.append(record('b'), OTHER);
      expect(await newIds(early)).toEqual(['b']);
      expect(await newIds(late)).toEqual(['a', 'b']);
      expect(await newIds(store.open({ containing: ['"id":"b"'] }))).toEqual(['b']);
      await store.close();
    });

    test('reads lines that were copied twice once, at their first position', async () => {
      const address = await kind.fresh();
      const [mine, theirs] = [await open(address), await open(address)];
      const lines = ['a', 'b'].map((id) => encodeRecord(record(id)));
      await mine.appendLines(lines);
      await theirs.open().append(record('c'), OTHER);
      await theirs.appendLines(lines);
      expect((await allIds(mine)).filter((id) => id !== 'duplicate')).toEqual(['a', 'b', 'c']);
      for (const store of [mine, theirs]) await store.close();
    });

    test('has a record that was appended after an interruption once, at the latest after the next command', async () => {
      const [address, home, control] = [await kind.fresh(), tempDirectory(), new AbortController()];
      const interrupted = await openAt(address, home, control.signal, kind.variables);
      const log = interrupted.open();
      await log.append(record('a'), OTHER);
      const appending = log.append(record('b'), { kind: 'ends', reservation: 'a' });
      control.abort(new Error('Interrupted.'));
      await Promise.allSettled([appending, log.append(record('c'), OTHER)]);
      await interrupted.close().catch(() => undefined);
      const next = await open(address, home);
      const ids = await allIds(next);
      expect(ids.filter((id) => id !== 'duplicate').toSorted()).toEqual(['a', 'b', 'c']);
      await next.close();
    });
  });
}
