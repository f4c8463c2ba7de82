import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createFreshList } from '../../../src/api/fresh-list.ts';

/** A list whose reads end when the test says so, and a clock that the test sets. */
function watchedList() {
  const ends: ((error?: Error) => void)[] = [];
  const clock = { at: 0, now: () => clock.at, monotonic: () => clock.at };
  const list = createFreshList(
    () =>
      new Promise<number>((resolve, reject) => {
        const number = ends.length + 1;
        ends.push((error) => (error ? reject(error) : resolve(number)));
      }),
    clock,
  );
  /** Ends a read at a time. */
  const end = async (number: number, at: number, error?: Error): Promise<void> => {
    clock.at = at;
    ends[number - 1]?.(error);
    await pause();
  };
  return { list, clock, end, begun: () => ends.length };
}

test('concurrent calls share a read', async () => {
  const { list, end, begun } = watchedList();
  const calls = [list.recent(), list.recent()];
  await end(1, 100);
  expect(await Promise.all([...calls, list.recent()])).toEqual([1, 1, 1]);
  expect(begun()).toBe(1);
});

test('a list older than two seconds is read again', async () => {
  const { list, clock, end, begun } = watchedList();
  const first = list.recent();
  await end(1, 100);
  await first;
  clock.at = 2_001;
  const second = list.recent();
  expect(begun()).toBe(2);
  await end(2, 2_100);
  expect(await second).toBe(2);
});

test('a slow list is read for a seventh of the time at most', async () => {
  const { list, clock, end, begun } = watchedList();
  void list.recent();
  await end(1, 1_000);
  clock.at = 6_000;
  expect(await list.recent()).toBe(1);
  clock.at = 6_001;
  void list.recent();
  expect(begun()).toBe(2);
});

test('a read on request starts immediately, and an earlier one does not replace its result', async () => {
  const { list, end, begun } = watchedList();
  void list.recent();
  const requested = list.anew();
  expect(begun()).toBe(2);
  await end(2, 100);
  expect(await requested).toBe(2);
  await end(1, 200);
  expect(await list.recent()).toBe(2);
});

test('a failed read counts until it is too old', async () => {
  const { list, clock, end } = watchedList();
  const first = list.recent();
  first.catch(() => undefined);
  await end(1, 100, new Error('503'));
  await expect(first).rejects.toThrow('503');
  await expect(list.recent()).rejects.toThrow('503');
  clock.at = 2_001;
  const second = list.recent();
  await end(2, 2_100);
  expect(await second).toBe(2);
});
