import { describe, expect, it } from 'vitest';
import { OutageTracker } from '../../../src/chat/outage-tracker.ts';

describe('an outage', () => {
  it('is not reported after one or two failures', () => {
    const outages = new OutageTracker();
    expect([outages.addFailure('a', 0, 10), outages.addFailure('a', 400, 410)]).toEqual([false, false]);
    expect(outages.addSuccess('a', { count: 3, hasNew: true, isComplete: true }, 900)).toBeUndefined();
    expect([outages.addFailure('a', 1000, 1010), outages.addFailure('a', 1400, 1410)]).toEqual([false, false]);
  });

  it('starts once and ends once, with the number of missed messages', () => {
    const outages = new OutageTracker();
    const said = Array.from({ length: 10 }, (_, index) => outages.addFailure('a', 1000 * index, 1000 * index + 10));
    expect(said.filter(Boolean)).toHaveLength(1);
    expect(said[2]).toBe(true);
    expect(outages.addSuccess('a', { count: 5, hasNew: true, isComplete: false }, 20_000)).toBeUndefined();
    expect(outages.addSuccess('a', { count: 2, hasNew: true, isComplete: true }, 21_000)).toEqual({
      outageMs: 21_000,
      missed: 7,
    });
    expect(outages.addSuccess('a', { count: 2, hasNew: true, isComplete: true }, 22_000)).toBeUndefined();
  });

  it('starts with a single failure if that took long', () => {
    expect(new OutageTracker().addFailure('a', 0, 15_000)).toBe(true);
  });

  it('covers all sessions and ends with the last of them', () => {
    const outages = new OutageTracker();
    for (const at of [0, 1, 2]) outages.addFailure('a', at, at);
    for (const at of [3, 4, 5]) expect(outages.addFailure('b', at, at)).toBe(false);
    expect(outages.addSuccess('a', { count: 1, hasNew: true, isComplete: true }, 100)).toBeUndefined();
    expect(outages.addSuccess('c', { count: 9, hasNew: true, isComplete: true }, 100)).toBeUndefined();
    expect(outages.addSuccess('b', { count: 1, hasNew: true, isComplete: true }, 200)).toEqual({
      outageMs: 200,
      missed: 2,
    });
  });

  it('continues if a session fails again while catching up', () => {
    const outages = new OutageTracker();
    for (const at of [0, 1, 2]) outages.addFailure('a', at, at);
    outages.addSuccess('a', { count: 1, hasNew: true, isComplete: false }, 10);
    expect(outages.failingSince()).toBeUndefined();
    expect(outages.addFailure('a', 20, 30)).toBe(false);
    expect(outages.failingSince()).toBe(20);
    expect(outages.addSuccess('a', { count: 1, hasNew: true, isComplete: true }, 40)).toEqual({
      outageMs: 40,
      missed: 2,
    });
  });

  it('has lasted since its first failure if nothing new arrived in between', () => {
    const outages = new OutageTracker();
    const failThenRead = (at: number) => {
      const isReported = outages.addFailure('a', at, at);
      const since = outages.failingSince();
      outages.addSuccess('a', { count: 0, hasNew: false, isComplete: false }, at + 5);
      return [isReported, since, outages.failingSince()];
    };
    expect([0, 10, 20].map(failThenRead)).toEqual([
      [false, 0, undefined],
      [false, 0, undefined],
      [true, 0, undefined],
    ]);
    outages.resetClock(-5);
    outages.addFailure('a', 0, 0);
    expect(outages.failingSince()).toBe(-5);
  });

  it('records when sessions began to fail', () => {
    const outages = new OutageTracker();
    expect(outages.failingSince()).toBeUndefined();
    outages.addFailure('a', 100, 110);
    outages.addFailure('b', 50, 120);
    expect(outages.failingSince()).toBe(50);
    outages.resetClock(20);
    expect(outages.failingSince()).toBe(20);
  });
});
