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
