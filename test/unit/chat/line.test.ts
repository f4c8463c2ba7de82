import { describe, expect, it } from 'vitest';
import { Line } from '../../../src/chat/line.ts';

describe('the line', () => {
  it('is not lost by one failure, and there is nothing to say when it passes', () => {
    const line = new Line();
    expect([line.failed('a', 0, 10), line.failed('a', 400, 410)]).toEqual([false, false]);
    expect(line.answered('a', 3, true, 900)).toBeUndefined();
    expect([line.failed('a', 1000, 1010), line.failed('a', 1400, 1410)]).toEqual([false, false]);
  });

  it('is lost once, and back once, with what came meanwhile', () => {
    const line = new Line();
    const said = Array.from({ length: 10 }, (_, index) => line.failed('a', 1000 * index, 1000 * index + 10));
    expect(said.filter(Boolean)).toHaveLength(1);
    expect(said[2]).toBe(true);
    expect(line.answered('a', 5, false, 20_000)).toBeUndefined();
    expect(line.answered('a', 2, true, 21_000)).toEqual({ outageMs: 21_000, missed: 7 });
    expect(line.answered('a', 2, true, 22_000)).toBeUndefined();
  });

  it('is lost by a single failure that took long', () => {
    expect(new Line().failed('a', 0, 15_000)).toBe(true);
  });

  it('is one for all sessions: back when the last of them is', () => {
    const line = new Line();
    for (const at of [0, 1, 2]) line.failed('a', at, at);
    for (const at of [3, 4, 5]) expect(line.failed('b', at, at)).toBe(false);
    expect(line.answered('a', 1, true, 100)).toBeUndefined();
    expect(line.answered('c', 9, true, 100)).toBeUndefined();
    expect(line.answered('b', 1, true, 200)).toEqual({ outageMs: 200, missed: 2 });
  });

  it('can be lost again while it catches up', () => {
    const line = new Line();
    for (const at of [0, 1, 2]) line.failed('a', at, at);
    line.answered('a', 1, false, 10);
    expect(line.failingSince()).toBeUndefined();
    expect(line.failed('a', 20, 30)).toBe(false);
    expect(line.failingSince()).toBe(20);
    expect(line.answered('a', 1, true, 40)).toEqual({ outageMs: 40, missed: 2 });
  });

  it('tells how long it has been failing', () => {
    const line = new Line();
    expect(line.failingSince()).toBeUndefined();
    line.failed('a', 100, 110);
    line.failed('b', 50, 120);
    expect(line.failingSince()).toBe(50);
    line.woke(20);
    expect(line.failingSince()).toBe(20);
  });
});
