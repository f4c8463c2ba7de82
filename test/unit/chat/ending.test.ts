import { describe, expect, it } from 'vitest';
import { Ending, type Standing } from '../../../src/chat/ending.ts';

const going = (changes: Partial<Standing> = {}): Standing => ({
  isInterrupted: false,
  isRead: false,
  patienceMs: Number.POSITIVE_INFINITY,
  now: 0,
  ...changes,
});

describe('following ends', () => {
  it('never by itself', () => {
    expect(new Ending({ follow: true }, 0).why(going({ isRead: true, now: 1e12 }))).toBeUndefined();
  });

  it('by the interrupt before all else, then by the replies, by having read all, and by the time', () => {
    const ending = new Ending({ follow: false, timeoutMs: 10, until: { replies: 1 } }, 0);
    const late = going({ isRead: true, now: 10 });
    expect(ending.why(going({ now: 9 }))).toBeUndefined();
    expect(ending.why(going({ now: 10 }))).toBe('timeout');
    expect(ending.why(going({ patienceMs: 0 }))).toBe('timeout');
    expect(ending.why(late)).toBe('read');
    ending.replied();
    expect(ending.why(late)).toBe('replied');
    expect(ending.why({ ...late, isInterrupted: true })).toBe('interrupted');
  });

  it('when it has been quiet after a reply, as a poll found that began late enough', () => {
    const ending = new Ending({ follow: true, until: { replies: 9, settleMs: 100 } }, 0);
    ending.polled(false, 500, 510);
    expect(ending.why(going())).toBeUndefined();
    ending.polled(true, 600, 610);
    ending.replied();
    ending.polled(false, 700, 720);
    expect(ending.why(going())).toBeUndefined();
    ending.polled(false, 710, 720);
    expect(ending.why(going())).toBe('replied');
  });
});
