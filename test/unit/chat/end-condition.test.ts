import { describe, expect, it } from 'vitest';
import { EndCondition, type FollowStatus } from '../../../src/chat/end-condition.ts';

const going = (changes: Partial<FollowStatus> = {}): FollowStatus => ({
  isInterrupted: false,
  isCaughtUp: false,
  remainingMs: Number.POSITIVE_INFINITY,
  now: 0,
  ...changes,
});

describe('following ends', () => {
  it('never by default', () => {
    expect(new EndCondition({ follow: true }, 0).findReason(going({ isCaughtUp: true, now: 1e12 }))).toBeUndefined();
  });

  it('on interrupt first, then after the replies, then when caught up, then at the timeout', () => {
    const ending = new EndCondition({ follow: false, timeoutMs: 10, until: { replies: 1 } }, 0);
    const late = going({ isCaughtUp: true, now: 10 });
    expect(ending.findReason(going({ now: 9 }))).toBeUndefined();
    expect(ending.findReason(going({ now: 10 }))).toBe('timeout');
    expect(ending.findReason(going({ remainingMs: 0 }))).toBe('timeout');
    expect(ending.findReason(late)).toBe('caught-up');
    ending.addReply();
    expect(ending.findReason(late)).toBe('replied');
    expect(ending.findReason({ ...late, isInterrupted: true })).toBe('interrupted');
  });

  it('once a poll that started after the settle time finds nothing new after a reply', () => {
    const ending = new EndCondition({ follow: true, until: { replies: 9, settleMs: 100 } }, 0);
    ending.addPoll(false, 500, 510);
    expect(ending.findReason(going())).toBeUndefined();
    ending.addPoll(true, 600, 610);
    ending.addReply();
    ending.addPoll(false, 700, 720);
    expect(ending.findReason(going())).toBeUndefined();
    ending.addPoll(false, 710, 720);
    expect(ending.findReason(going())).toBe('replied');
  });
});
