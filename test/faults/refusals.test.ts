import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, partnerctl } from '../support/run.ts';
import { startRawService } from '../support/tcp-server.ts';

const LIST = ['spaces', 'list', '-o', 'json'];

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
});
