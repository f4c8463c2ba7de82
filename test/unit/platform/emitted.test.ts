import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { emitted, mapConcurrent } from '../../../src/platform/emitted.ts';

/** A task for each of that many items, each of which ends when the test says so. */
function work(count: number) {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const items = Array.from({ length: count }, (_, index) => index * 10);
  const act = async (item: number, index: number): Promise<string> => {
    begun.push(item);
    await new Promise<void>((resolve) => {
      ends[index] = resolve;
    });
    return `${index}: ${item}`;
  };
  return { begun, end: (index: number) => ends[index]?.(), items, act };
}

test('yields values as they complete, with at most the given number in progress', async () => {
  const { begun, end, items, act } = work(4);
  const values = mapConcurrent(items, 2, act);
  const first = values.next();
  await pause();
  expect(begun).toEqual([0, 10]);
  end(1);
  expect((await first).value).toBe('1: 10');
  expect(begun).toEqual([0, 10, 20]);
  const second = values.next();
  end(2);
  expect((await second).value).toBe('2: 20');
  end(0);
  expect((await values.next()).value).toBe('0: 0');
  end(3);
  expect((await values.next()).value).toBe('3: 30');
  expect((await values.next()).done).toBe(true);
});

test('a consumer that stops early waits until all items are done', async () => {
  const { begun, end, items, act } = work(3);
  const values = mapConcurrent(items, 1, act);
  const first = values.next();
  end(0);
  await first;
  let isLeft = false;
  const left = values.return(undefined).then(() => {
    isLeft = true;
  });
  await pause();
  expect(begun).toEqual([0, 10]);
  end(1);
  await pause();
  expect({ begun, isLeft }).toEqual({ begun: [0, 10, 20], isLeft: false });
  end(2);
  await left;
});

test('an empty input ends immediately', async () => {
  const { items, act } = work(0);
  expect(await mapConcurrent(items, 4, act).next()).toEqual({ done: true, value: undefined });
});

test('what was emitted before a failure comes before it', async () => {
  const values = emitted<number>(async (emit) => {
    emit(1);
    await pause();
    emit(2);
    throw new Error('lost');
  });
  expect([await values.next(), await values.next()].map(({ value }) => value)).toEqual([1, 2]);
  await expect(values.next()).rejects.toThrow('lost');
});
