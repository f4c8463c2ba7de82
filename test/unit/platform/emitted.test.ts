import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { emitted, mapConcurrent } from '../../../src/platform/emitted.ts';

/** A task for each of that many items, each of which ends when the test says so. */
function work(count: number) {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const items = Array.from({ length: count }, (_, index) => index);
  const act = async (item: number): Promise<number> => {
    begun.push(item);
    await new Promise<void>((resolve) => {
      ends[item] = resolve;
    });
    return item;
  };
  return { begun, end: (index: number) => ends[index]?.(), items, act };
}

test('Values come as they complete, with at most the given number in progress.', async () => {
  const { begun, end, items, act } = work(3);
  const values = mapConcurrent(items, 2, act);
  const first = values.next();
  await pause();
  expect(begun).toEqual([0, 1]);
  end(1);
  expect((await first).value).toBe(1);
  expect(begun).toEqual([0, 1, 2]);
  end(2);
  expect((await values.next()).value).toBe(2);
  end(0);
  expect((await values.next()).value).toBe(0);
  expect((await values.next()).done).toBe(true);
});

test('A consumer that stops early waits until all items are done.', async () => {
  const { begun, end, items, act } = work(2);
  const values = mapConcurrent(items, 1, act);
  const first = values.next();
  end(0);
  await first;
  let isLeft = false;
  const left = values.return(undefined).then(() => {
    isLeft = true;
  });
  await pause();
  expect({ begun, isLeft }).toEqual({ begun: [0, 1], isLeft: false });
  end(1);
  await left;
});

test('What was emitted before a failure comes before it, even to a consumer that was busy meanwhile.', async () => {
  const values = emitted<number>(async (emit) => {
    emit(1);
    await pause();
    emit(2);
    throw new Error('lost');
  });
  expect((await values.next()).value).toBe(1);
  await pause();
  await pause();
  expect((await values.next()).value).toBe(2);
  await expect(values.next()).rejects.toThrow('lost');
});
