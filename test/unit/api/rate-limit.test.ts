import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { RateLimitError } from '../../../src/errors.ts';
import { json, startFakeService } from '../../support/fake-service.ts';
import { fastClock } from '../../support/run.ts';
import { client } from './http-client.ts';

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error) => error,
  );

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
});
