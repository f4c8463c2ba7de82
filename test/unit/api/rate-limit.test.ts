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
});
