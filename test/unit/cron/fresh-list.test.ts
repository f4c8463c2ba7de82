import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createFreshList } from '../../../src/cron/fresh-list.ts';

/** A list whose reads end when the test says so, and a clock that the test sets. */
function watchedList() {
  const ends: (() => void)[] = [];
  const clock = { at: 0, now: () => clock.at, monotonic: () => clock.at };
  const read = () => new Promise<number>((resolve) => ends.push(() => resolve(ends.length)));
  const end = async (number: number, at: number): Promise<void> => {
    clock.at = at;
    ends[number - 1]?.();
    await pause();
  };
  return { list: createFreshList(read, clock), clock, end, begun: () => ends.length };
}

test('concurrent calls share a reading, one older than two seconds is read again, or one that must begin now', async () => {
  const { list, clock, end, begun } = watchedList();
  const calls = [list.recent(), list.recent()];
  await end(1, 100);
  expect(await Promise.all([...calls, list.recent()])).toEqual([1, 1, 1]);
  clock.at = 2_001;
  void list.recent();
  expect(begun()).toBe(2);
  void list.anew();
  expect(begun()).toBe(3);
});

test('a slow list is read for a seventh of the time at most', async () => {
  const { list, clock, end, begun } = watchedList();
  void list.recent();
  await end(1, 1_000);
  clock.at = 6_000;
  await list.recent();
  expect(begun()).toBe(1);
  clock.at = 6_001;
  void list.recent();
  expect(begun()).toBe(2);
});
