import { describe, expect, it } from 'vitest';
import { Health } from '../../../src/chat/health.ts';
import { ServiceError } from '../../../src/errors.ts';

const ERROR = new ServiceError('503');
const fail = (health: Health, session: string, at: number): boolean => health.fail(session, ERROR, at, at);

describe('an outage', () => {
  it('starts once and ends once, with the last session, and counts what arrived meanwhile', () => {
    const health = new Health();
    const failures = [0, 1, 2, 3].map((at) => fail(health, 'a', at * 100));
    expect(failures).toEqual([false, false, true, false]);
    expect([fail(health, 'b', 400), fail(health, 'b', 500), fail(health, 'b', 600)]).not.toContain(true);
    health.arrive('a', 2, 700);
    expect(health.succeed('a', 800)).toBeUndefined();
    health.arrive('b', 1, 900);
    expect(health.succeed('b', 1_000)).toEqual({ outageMs: 1_000, missed: 3 });
    expect([health.since, health.lastError]).toEqual([undefined, undefined]);
    expect(health.succeed('b', 1_100)).toBeUndefined();
  });
});
