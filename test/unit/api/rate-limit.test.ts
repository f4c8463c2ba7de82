import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { BalanceError, RateLimitError } from '../../../src/errors.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import { json, startFakeService } from '../../support/fake-service.ts';
import { fastClock } from '../../support/run.ts';
import { client } from './http-client.ts';

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error) => error,
  );

/** A clock that stands still until the test advances it. */
function handClock(): Clock & { pass(ms: number): void; sleepers(count: number): Promise<void> } {
  let now = Date.UTC(2026, 0, 1);
  let sleeping: { until: number; wake: () => void }[] = [];
  let watch = (): void => undefined;
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms) =>
      new Promise((wake) => {
        sleeping.push({ until: now + ms, wake });
        watch();
      }),
    pass(ms) {
      now += ms;
      const due = sleeping.filter(({ until }) => until <= now);
      sleeping = sleeping.filter(({ until }) => until > now);
      for (const { wake } of due) wake();
    },
    sleepers: (count) =>
      new Promise((resolve) => {
        watch = () => {
          if (sleeping.length === count) resolve();
        };
        watch();
      }),
  };
}

describe('a rate limit', () => {
  const limited = (headers: Record<string, string>) => startFakeService([json({}, 429, headers), json([])]);

  it('fails a call that must happen once, and delays the calls after it', async () => {
    const clock = fastClock();
    const server = await limited({ 'retry-after': '60' });
    const { http } = client(server.baseUrl, { clock, random: () => 0 });
    const error = await failureOf(http.call(OPERATIONS.provisionSpace));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(clock.slept).toEqual([]);
    await http.call(OPERATIONS.listSpaces);
    expect(clock.slept).toEqual([60_000]);
  });

  it('of one call delays all calls until it has passed', async () => {
    const clock = handClock();
    const server = await limited({ 'retry-after': '60' });
    const { http } = client(server.baseUrl, { clock, random: () => 0 });
    const first = http.call(OPERATIONS.listSpaces);
    await clock.sleepers(1);
    const others = [1, 2, 3].map(() => http.call(OPERATIONS.listAgents, { values: { space_id: 's1' } }));
    await clock.sleepers(4);
    expect(server.requests.length).toBe(1);
    clock.pass(59_999);
    await clock.sleepers(4);
    expect(server.requests.length).toBe(1);
    clock.pass(1);
    await Promise.all([first, ...others]);
    expect(server.requests.length).toBe(5);
  });

  it('of a call without retries delays the next calls, too', async () => {
    const clock = fastClock();
    const server = await limited({ 'retry-after': '60' });
    const { http } = client(server.baseUrl, { clock, retries: 0, random: () => 0 });
    expect(await failureOf(http.call(OPERATIONS.listSpaces))).toBeInstanceOf(RateLimitError);
    await http.call(OPERATIONS.listSpaces);
    expect(clock.slept).toEqual([60_000]);
  });

  it('beyond the deadline of the next call fails that call without a request', async () => {
    const clock = fastClock();
    const server = await limited({ 'retry-after': '3600' });
    const { http } = client(server.baseUrl, { clock });
    const first = await failureOf(http.call(OPERATIONS.listSpaces));
    const second = await failureOf(http.call(OPERATIONS.listSpaces));
    for (const error of [first, second]) {
      expect(error instanceof RateLimitError && error.info.retryAt).toBe(
        new Date(clock.now() + 3_600_000).toISOString(),
      );
    }
    expect(second instanceof RateLimitError && second.info.requestId).toBeUndefined();
    expect(server.requests.length).toBe(1);
  });

  it('a 402 is not retried, even by concurrent calls', async () => {
    const server = await startFakeService(json({}, 402));
    const { http } = client(server.baseUrl);
    const errors = await Promise.all([1, 2, 3].map(() => failureOf(http.call(OPERATIONS.listSpaces))));
    expect(errors.every((error) => error instanceof BalanceError)).toBe(true);
    expect(server.requests.length).toBe(3);
  });
});
