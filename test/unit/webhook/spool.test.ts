import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Delivery, keyOf } from '../../../src/webhook/delivery.ts';
import { openSpool } from '../../../src/webhook/spool.ts';
import { tempDirectory } from '../../support/run.ts';

const DAY = 24 * 60 * 60 * 1000;
const NOW = Date.UTC(2026, 0, 20);

function delivery(delivery_id: string, at: number): Delivery {
  return {
    delivery_id,
    received_at: new Date(at).toISOString(),
    verification: 'verified',
    reason: null,
    headers: [['X-One', 'café']],
    body: Buffer.from([0, 255]),
  };
}

test('pending deliveries are found by the next run, the oldest first, with their content unchanged', async () => {
  const options = { directory: tempDirectory(), isForUser: true, now: NOW };
  const { spool } = await openSpool(options);
  const [late, early] = [delivery('late', NOW), delivery('early', NOW - 1)];
  const [lateName, earlyName] = [await spool.save(late, true), await spool.save(early, true)];
  await spool.save(delivery('done', NOW), false);
  const next = await openSpool(options);
  expect(next.pending).toEqual([earlyName, lateName]);
  expect(next.keys.toSorted()).toEqual(['done', 'early', 'late'].map(keyOf).sort());
  expect(await next.spool.readPending(lateName)).toEqual(late);
});

test('a delivery that the target accepted is not pending anymore, even if the process dies before it records that', async () => {
  const options = { directory: tempDirectory(), isForUser: false, now: NOW };
  const { spool } = await openSpool(options);
  const name = await spool.save(delivery('a', NOW), true);
  spool.markAccepted(name);
  expect((await openSpool(options)).pending).toEqual([]);
  await spool.markForwarded(name, delivery('a', NOW), { at: '', status: 200 });
  expect(readdirSync(options.directory)).toEqual([`${name}.json`]);
});

test.each([true, false])(
  'a delivery that cannot be saved completely leaves no file; pending: %s',
  async (isPending) => {
    const name = await (await openSpool({ directory: tempDirectory(), isForUser: true, now: NOW })).spool.save(
      delivery('a', NOW),
      isPending,
    );
    const directory = tempDirectory();
    const taken = `${name}${isPending ? '.pending' : ''}.json`;
    // Nothing can be renamed to the name of a directory.
    mkdirSync(join(directory, taken));
    const { spool } = await openSpool({ directory, isForUser: true, now: NOW });
    await expect(spool.save(delivery('a', NOW), isPending)).rejects.toThrow('EISDIR');
    expect(readdirSync(directory)).toEqual([taken]);
  },
);

test('a discarded delivery leaves no trace', async () => {
  const options = { directory: tempDirectory(), isForUser: true, now: NOW };
  const { spool } = await openSpool(options);
  await spool.discard(await spool.save(delivery('a', NOW), true));
  expect(await openSpool(options)).toMatchObject({ keys: [], pending: [] });
  expect(readdirSync(options.directory)).toEqual([]);
});

test.each([true, false])(
  "after a week, only pending deliveries are kept, unless the directory is the user's: %s",
  async (isForUser) => {
    const directory = tempDirectory();
    const { spool } = await openSpool({ directory, isForUser, now: NOW });
    const week = NOW - 8 * DAY;
    await spool.save(delivery('old', week), false);
    const pending = await spool.save(delivery('old-pending', week), true);
    const recent = await spool.save(delivery('recent', NOW - DAY), false);
    writeFileSync(join(directory, 'notes.txt'), 'not ours');
    await openSpool({ directory, isForUser, now: NOW });
    const kept = ['notes.txt', `${pending}.body`, `${pending}.pending.json`, `${recent}.body`, `${recent}.json`].sort();
    const names = readdirSync(directory).sort();
    if (isForUser) expect(names).toHaveLength(7);
    else expect(names).toEqual(kept);
  },
);
