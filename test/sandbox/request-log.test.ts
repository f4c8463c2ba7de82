import { expect, test } from 'vitest';
import { RequestLog } from '../../src/sandbox/request-log.ts';

const request = { at: '', request_id: '', path: '/v1/', query: '', route: '/v1/*' };

test('the log holds the last 10,000 requests, oldest first, and counts them all', () => {
  const log = new RequestLog();
  for (let number = 0; number < 10_005; number += 1) log.arrive({ ...request, method: number % 2 ? 'GET' : 'POST' });
  const seqs = log.entries().map(({ seq }) => seq);
  expect(seqs).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 5));
  expect(log.counts()).toEqual({ 'POST /v1/*': 5_003, 'GET /v1/*': 5_002 });
  log.clear();
  expect(log.entries()).toEqual([]);
  expect(log.arrive({ ...request, method: 'GET' }).seq).toBe(0);
});

test('a request that is completed late is completed in the log', () => {
  const log = new RequestLog();
  const entry = log.arrive({ ...request, method: 'GET' });
  entry.status = 200;
  expect(log.entries()[0]?.status).toBe(200);
});
