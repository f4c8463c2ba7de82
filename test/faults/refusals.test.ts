import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { systemClock } from '../../src/clock.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { BalanceError, RateLimitError } from '../../src/errors.ts';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, partnerctl } from '../support/run.ts';
import { startRawService } from '../support/tcp-server.ts';
import { client } from './http-client.ts';

const LIST = ['spaces', 'list', '-o', 'json'];
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

describe('a rejection', () => {
  it.each([
    [400, 1, 'refused'],
    [401, 3, 'credentials'],
    [402, 6, 'balance_too_low'],
    [403, 3, 'credentials'],
    [404, 4, 'not_found'],
    [405, 1, 'refused'],
    [409, 1, 'refused'],
    [422, 1, 'refused'],
    [501, 8, 'service'],
  ])(
    'with %i fails immediately with exit %i, and keeps its body, status, and request id',
    async (status, exit, type) => {
      const server = await startFakeService((_, response) =>
        sendJson(response, { error: { code: 'the_code', message: 'The message.' } }, status, {
          'x-request-id': 'srv-1',
        }),
      );
      const ran = await partnerctl(server.baseUrl, LIST);
      expect(ran.code).toBe(exit);
      expect(ran.error()).toMatchObject({
        type,
        status,
        code: 'the_code',
        request_id: 'srv-1',
        details: { message: 'The message.', attempts: 1 },
      });
      expect(server.requests.length).toBe(1);
      expect(ran.stdout).toBe('');
    },
  );

  it.each([
    ['cut', 'content-length: 500\r\n\r\n{"code":"org'],
    ['declared as gzip, but empty', 'content-encoding: gzip\r\ncontent-length: 0\r\n\r\n'],
    ['in an unknown encoding', 'content-encoding: zstd\r\ncontent-length: 1\r\n\r\nx'],
  ])('with 402 is not retried, even if its body is %s', async (_, rest) => {
    const server = await startRawService(`HTTP/1.1 402 Payment Required\r\n${rest}`);
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(6);
    expect(server.requests.length).toBe(1);
  });

  it('keeps its status if its body stalls', async () => {
    const server = await startFakeService((_, response) => {
      response.writeHead(402, { 'content-length': '100' });
      response.write('{');
    });
    const ran = await partnerctl(server.baseUrl, [...LIST, '--timeout', '2s'], { clock: systemClock });
    expect(ran.code).toBe(6);
    expect(server.requests.length).toBe(1);
  });

  it('with an HTML page is summarized', async () => {
    const page = `<!doctype html><html><head><title>502 Bad Gateway</title></head><body>${'x'.repeat(9999)}</body></html>`;
    const server = await startFakeService((_, response) => {
      response.writeHead(502, { 'content-type': 'text/html' });
      response.end(page);
    });
    const ran = await partnerctl(server.baseUrl, ['spaces', 'list']);
    expect(ran.code).toBe(8);
    expect(ran.stderr).toContain('502 Bad Gateway');
    expect(ran.stderr.length).toBeLessThan(1500);
    expect(server.requests.length).toBe(4);
  });

  it.each([408, 500, 502, 503, 504])('with %i is retried, each time with a new request id', async (status) => {
    const server = await startFakeService((_, response, count) => sendJson(response, [], count < 4 ? status : 200));
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(0);
    const ids = server.requests.map(({ headers }) => headers['x-request-id']);
    expect(new Set(ids).size).toBe(4);
  });
});

describe('a rate limit', () => {
  const limited = (headers: Record<string, string>, status = 429) =>
    startFakeService([json({}, status, headers), json([])]);

  it.each<[string, Record<string, string>, number, number, number?]>([
    ['seconds of Retry-After', { 'retry-after': '17' }, 0, 17_000],
    [
      "date of Retry-After, by the service's own clock",
      { 'retry-after': 'Wed, 01 Jan 2020 00:00:17 GMT', date: 'Wed, 01 Jan 2020 00:00:00 GMT' },
      0,
      17_000,
    ],
    ['seconds and a random part of a second', { 'retry-after': '17' }, 0.5, 17_250],
    ['backoff with jitter without Retry-After', {}, 0.5, 250],
    ['seconds of a 503 as well', { 'retry-after': '40' }, 0, 40_000, 503],
  ])('delays the retry: %s', async (_, headers, random, waitMs, status) => {
    const clock = fastClock();
    const server = await limited(headers, status);
    expect((await partnerctl(server.baseUrl, LIST, { clock, random: () => random })).code).toBe(0);
    expect(clock.slept).toEqual([waitMs]);
  });

  it('delays the retry for longer if --timeout allows it', async () => {
    const clock = fastClock();
    const server = await limited({ 'retry-after': '300' });
    const ran = await partnerctl(server.baseUrl, [...LIST, '--timeout', '10m'], { clock, random: () => 0 });
    expect(ran.code).toBe(0);
    expect(clock.slept).toEqual([300_000]);
  });

  it.each(['99999999999999', '9'.repeat(400)])(
    'of %s seconds, beyond the largest date, ends like any other',
    async (after) => {
      const server = await limited({ 'retry-after': after });
      const ran = await partnerctl(server.baseUrl, LIST);
      expect(ran.code).toBe(7);
      expect(ran.error()).toMatchObject({ type: 'rate_limited', retry_at: expect.stringMatching(/Z$/) });
    },
  );

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
