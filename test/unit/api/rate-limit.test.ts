import { expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { RateLimitError } from '../../../src/errors.ts';
import { json, startFakeService } from '../../support/fake-service.ts';
import { fastClock } from '../../support/run.ts';
import { client } from './http-client.ts';

it('a rate limit fails a call that must happen once, and delays the calls after it', async () => {
  const clock = fastClock();
  const server = await startFakeService([json({}, 429, { 'retry-after': '60' }), json([])]);
  const { http } = client(server.baseUrl, { clock, random: () => 0 });
  await expect(http.call(OPERATIONS.provisionSpace)).rejects.toBeInstanceOf(RateLimitError);
  expect(clock.slept).toEqual([]);
  await http.call(OPERATIONS.listSpaces);
  expect(clock.slept).toEqual([60_000]);
});

it.each([10, -10])(
  'a service whose clock is %i minutes ahead is asked again when its Retry-After says',
  async (minutes) => {
    const clock = fastClock();
    const at = (ms: number): string => new Date(clock.now() + minutes * 60_000 + ms).toUTCString();
    const headers = { date: at(0), 'retry-after': at(5000) };
    const server = await startFakeService([json({}, 503, headers), json([])]);
    const { http } = client(server.baseUrl, { clock, random: () => 0 });
    await http.call(OPERATIONS.listSpaces);
    expect(clock.slept).toEqual([5000]);
  },
);
