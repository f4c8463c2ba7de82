import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../src/api/attempt.ts';
import { createCronJob, listCronJobs } from '../../src/api/cron-jobs.ts';
import type { Http } from '../../src/api/http.ts';
import { Transport } from '../../src/api/transport.ts';
import { systemClock } from '../../src/clock.ts';
import {
  BalanceError,
  CredentialsError,
  InterruptedError,
  NotFoundError,
  OutcomeUnknownError,
  PartnerctlError,
  provesNothingDone,
  RateLimitError,
  RefusedError,
  ServiceError,
  ShapeError,
} from '../../src/errors.ts';
import { client, TOKEN, withinLimit } from '../support/api-client.ts';
import { createGate, json, neverAnswer, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock } from '../support/run.ts';
import { findClosedPort, listen, rawJson, startRawService, UNRESOLVABLE_HOST } from '../support/tcp-server.ts';

const JOB = {
  agent_id: 'a1',
  name: 'Digest',
  instructions: 'Sum up.\n',
  schedule: { minute: '0', hour: '9', day_of_week: '1-5', timezone: 'Europe/Berlin' },
};

/** The error of creating the job. Throws if it succeeds, or fails with a bug. */
async function errorOf(http: Http): Promise<PartnerctlError> {
  const thrown: unknown = await createCronJob(http, JOB, 120_000).catch((error: unknown) => error);
  if (thrown instanceof PartnerctlError) return thrown;
  throw new Error('There was no expected error.', { cause: thrown });
}

function requests(events: readonly TraceEvent[]): number {
  return events.filter(({ kind }) => kind === 'request').length;
}

function expectUnknown(error: PartnerctlError): void {
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(error.exitCode).toBe(9);
  expect(provesNothingDone(error)).toBe(false);
  // The caller adds a hint.
  expect(error.info.hint).toBeUndefined();
}

function expectNotDone(error: PartnerctlError): void {
  expect(error).not.toBeInstanceOf(OutcomeUnknownError);
  expect(provesNothingDone(error)).toBe(true);
}

describe('the cron job calls', () => {
  it('send the job as specified, and return its id', async () => {
    const server = await startFakeService(json({ cron_job_id: 'c1' }, 201));
    const { http } = client(server.baseUrl);
    expect(await createCronJob(http, JOB, 120_000)).toBe('c1');
    expect(server.requests).toMatchObject([
      { method: 'POST', path: '/v1/automation/partner-cron-jobs/', headers: { authorization: `Bearer ${TOKEN}` } },
    ]);
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({
      agent_id: 'a1',
      name: 'Digest',
      instructions: 'Sum up.\n',
      schedule: {
        type: 'cron',
        data: { minute: '0', hour: '9', day_of_week: '1-5' },
        timezone: 'Europe/Berlin',
      },
    });
  });

  it('read the list page by page', async () => {
    const server = await startFakeService((_, response, count) =>
      sendJson(response, { results: [{ id: `c${count}` }], next: count === 1 ? '?page=2' : null }),
    );
    const { http } = client(server.baseUrl);
    const ids: unknown[] = [];
    for await (const { id } of listCronJobs(http)) ids.push(id);
    expect(ids).toEqual(['c1', 'c2']);
    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/automation/partner-cron-jobs/',
      'GET /v1/automation/partner-cron-jobs/?page=2',
    ]);
  });
});

describe('a 4xx response proves that nothing was done', () => {
  it.each([
    [400, RefusedError],
    [401, CredentialsError],
    [402, BalanceError],
    [403, CredentialsError],
    [404, NotFoundError],
    [405, RefusedError],
    [408, ServiceError],
    [409, RefusedError],
    [413, RefusedError],
    [422, RefusedError],
    [429, RateLimitError],
    [451, RefusedError],
  ])('%i is reported as itself, and the request is not repeated', async (status, kind) => {
    const server = await startFakeService(json({ code: 'the_code' }, status));
    const { http } = client(server.baseUrl);
    const error = await errorOf(http);
    expectNotDone(error);
    expect(error).toBeInstanceOf(kind);
    expect(error.info).toMatchObject({ status, code: 'the_code' });
    // A 404 or 405 may be about the trailing slash, which a read can show.
    expect(server.requests.filter(({ method }) => method !== 'GET')).toHaveLength(1);
  });

  it('a 429 fails immediately, however short its Retry-After, with retry_at', async () => {
    const clock = fastClock();
    const server = await startFakeService(json({}, 429, { 'retry-after': '1' }));
    const { http } = client(server.baseUrl, { clock });
    const error = await errorOf(http);
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error.info.retryAt).toBe(new Date(clock.now() + 1_000).toISOString());
    expect(error.info.hint).toContain('was not processed');
    expect(error.info.hint).not.toContain('--timeout');
    expect(clock.slept).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });

  it('a 422 counts even if its body is truncated', async () => {
    const server = await startRawService(
      'HTTP/1.1 422 Unprocessable Content\r\ncontent-length: 50\r\n\r\n{"code"',
      (socket) => socket.resetAndDestroy(),
    );
    const { http } = client(server.baseUrl);
    expectNotDone(await errorOf(http));
    expect(server.requests).toHaveLength(1);
  });
});

describe('a request that was never sent proves that nothing was done', () => {
  it('after a refused connection', async () => {
    const { http, events } = client(`http://127.0.0.1:${await findClosedPort()}/v1`);
    const error = await errorOf(http);
    expectNotDone(error);
    expect(error.info.details).toMatchObject({ reason: 'ECONNREFUSED', left: false });
    expect(requests(events)).toBe(4);
  });

  it('after an unknown host name', async () => {
    const { http } = client(`https://${UNRESOLVABLE_HOST}/v1`);
    const error = await errorOf(http);
    expectNotDone(error);
    expect(error.info.details).toMatchObject({ left: false });
  });

  it('after an untrusted certificate', async () => {
    const server = await startFakeService(json({ id: 'c1' }, 201), { tls: true });
    const { http, events } = client(server.baseUrl);
    expectNotDone(await errorOf(http));
    expect(requests(events)).toBe(1);
    expect(server.requests).toEqual([]);
  });

  it('after a reset during the handshake', async () => {
    let bytes = 0;
    const server = createServer((socket) => {
      socket.on('data', (chunk) => {
        bytes += chunk.length;
        socket.resetAndDestroy();
      });
    });
    const { baseUrl } = await listen(server, 'https');
    const { http } = client(baseUrl, { retries: 1 });
    expectNotDone(await errorOf(http));
    expect(bytes).toBeGreaterThan(0);
  });

  it('after a deadline before the connection was established', async () => {
    const { baseUrl } = await listen(createServer(), 'https');
    const { http } = client(baseUrl, { clock: systemClock, deadline: Date.now() + 100 });
    expectNotDone(await errorOf(http));
  });

  it('after a deadline before the call, which sends nothing', async () => {
    const server = await startFakeService(json({ id: 'c1' }, 201));
    const { http, events } = client(server.baseUrl, { clock: systemClock, deadline: Date.now() });
    expectNotDone(await errorOf(http));
    expect(requests(events)).toBe(0);
    expect(server.requests).toEqual([]);
  });

  it('after a proxy did not open the tunnel', async () => {
    let connects = 0;
    const proxy = createServer((socket) => {
      socket.on('data', () => {
        connects += 1;
        socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n');
      });
    });
    const { port } = await listen(proxy);
    const origin = 'https://api.partner.test';
    const transport = new Transport({
      origin,
      proxy: { url: `http://127.0.0.1:${port}`, noProxy: '', from: 'HTTPS_PROXY' },
    });
    const { http } = client(`${origin}/v1`, { transport, retries: 0 });
    expectNotDone(await errorOf(http));
    await transport.close();
    expect(connects).toBe(1);
  });

  it('after Ctrl-C before the call', async () => {
    const server = await startFakeService(json({ id: 'c1' }, 201));
    const { http } = client(server.baseUrl, { interrupt: AbortSignal.abort() });
    const error = await errorOf(http);
    expectNotDone(error);
    expect(error).toBeInstanceOf(InterruptedError);
    expect(server.requests).toEqual([]);
  });

  it('after Ctrl-C while the connection was being established', async () => {
    const arrived = createGate();
    const { baseUrl } = await listen(
      createServer(() => arrived.open()),
      'https',
    );
    const control = new AbortController();
    const { http } = client(baseUrl, { interrupt: control.signal });
    const calling = errorOf(http);
    await arrived.pass();
    control.abort();
    const error = await calling;
    expectNotDone(error);
    expect(error).toBeInstanceOf(InterruptedError);
  });

  it('after Ctrl-C between two attempts that were never sent', async () => {
    const control = new AbortController();
    const baseUrl = `http://127.0.0.1:${await findClosedPort()}/v1`;
    const onWait = ({ kind }: TraceEvent): void => {
      if (kind === 'wait') control.abort();
    };
    const { http } = client(baseUrl, { interrupt: control.signal, trace: onWait });
    const error = await errorOf(http);
    expectNotDone(error);
    expect(error).toBeInstanceOf(InterruptedError);
  });
});

describe('any other failure leaves the outcome unknown, and is not sent again', () => {
  const reply = (status: string, rest: string): string => `HTTP/1.1 ${status}\r\n${rest}`;

  it.each<[string, string, object?]>([
    ['500', rawJson({ message: 'Broken.' }, '500 Internal Server Error'), { status: 500 }],
    ['501', rawJson({}, '501 Not Implemented'), { status: 501 }],
    [
      '502 with a page',
      reply('502 Bad Gateway', 'content-type: text/html\r\nconnection: close\r\n\r\n<title>Bad</title>'),
    ],
    ['503 with Retry-After', rawJson({}, '503 Service Unavailable', 'retry-after: 1\r\n'), { status: 503 }],
    ['504', rawJson({}, '504 Gateway Timeout'), { status: 504 }],
    ['302', reply('302 Found', 'location: /login\r\ncontent-length: 0\r\n\r\n'), { status: 302 }],
    ['303', reply('303 See Other', 'location: /v1/automation/partner-cron-jobs/c1/\r\ncontent-length: 0\r\n\r\n')],
    ['307', reply('307 Temporary Redirect', 'location: /\r\ncontent-length: 0\r\n\r\n')],
    ['304', reply('304 Not Modified', '\r\n')],
    ['201 whose body is cut', rawJson({ id: 'c1' }, '201 Created').replace('content-length: ', 'content-length: 9')],
    ['201 whose chunks have no end', reply('201 Created', 'transfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\n')],
    ['201 without a body', reply('201 Created', 'content-length: 0\r\n\r\n')],
    ['204', reply('204 No Content', '\r\n')],
    [
      '201 with a page',
      reply('201 Created', 'content-type: text/html\r\nconnection: close\r\n\r\n<title>Hello</title>'),
    ],
    ['201 with half of its JSON', reply('201 Created', 'content-length: 5\r\n\r\n{"id"')],
    ['201 without an id', rawJson({ ok: true }, '201 Created'), { status: 201 }],
    ['200 with an error', rawJson({ error: { message: 'Broken.' } }), { status: 200 }],
    ['201 in an unknown encoding', reply('201 Created', 'content-encoding: zstd\r\ncontent-length: 1\r\n\r\nx')],
    ['headers that are cut', 'HTTP/1.1 201 Cre'],
    ['no response', ''],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ])('%s', async (_, text, info = {}) => {
    const server = await startRawService(text);
    const { http, events } = client(server.baseUrl);
    const error = await errorOf(http);
    expectUnknown(error);
    expect(error.info).toMatchObject(info);
    expect(error.info.why).toBeTruthy();
    expect(requests(events)).toBe(1);
    expect(server.requests).toHaveLength(1);
  });

  it('an unusable response is described, with the failure as the cause', async () => {
    const server = await startRawService(rawJson({ ok: true }, '201 Created'));
    const { http } = client(server.baseUrl);
    const { info } = await errorOf(http);
    expect(info.why).toContain('The response contains no cron_job_id.');
    expect(info.why).toContain('an object with ok (boolean)');
    expect(info.cause).toBeInstanceOf(ShapeError);
  });

  it('a reset after the request was read', async () => {
    const server = await startRawService('', (socket) => socket.resetAndDestroy());
    const { http, events } = client(server.baseUrl);
    expectUnknown(await errorOf(http));
    expect(requests(events)).toBe(1);
    expect(server.requests).toHaveLength(1);
  });

  it('a reset in the middle of the response', async () => {
    const answer = reply('201 Created', 'content-length: 50\r\n\r\n{"cron_job_id": "c');
    const server = await startRawService(answer, (socket) => socket.resetAndDestroy());
    const { http, events } = client(server.baseUrl);
    expectUnknown(await errorOf(http));
    expect(requests(events)).toBe(1);
  });

  it('a reset at accept, if the request may already have been sent', async () => {
    let accepted = 0;
    const server = createServer((socket) => {
      accepted += 1;
      socket.resetAndDestroy();
    });
    const { baseUrl } = await listen(server);
    const { http, events } = client(baseUrl);
    const error = await errorOf(http);
    // The system decides whether the request or the reset comes first, but a sent request is never repeated.
    const left = events.filter(
      (event) => event.kind === 'result' && event.result.kind === 'failure' && event.result.sent === 'all',
    );
    if (left.length === 0) expectNotDone(error);
    else expectUnknown(error);
    expect(left.length).toBeLessThanOrEqual(1);
    expect(accepted).toBe(requests(events));
  });

  it('no response before the deadline', async () => {
    const { error, requests } = await withinLimit(async (ms) => {
      const { baseUrl, requests } = await startFakeService(neverAnswer);
      const { http } = client(baseUrl, { clock: systemClock, deadline: Date.now() + ms });
      const error = await errorOf(http);
      return requests.length === 0 ? undefined : { error, requests };
    });
    expectUnknown(error);
    expect(error.info.why).toContain('No response in time.');
    expect(requests).toHaveLength(1);
  });

  it('a response that stalls until the deadline', async () => {
    const { error, requests } = await withinLimit(async (ms) => {
      const { baseUrl, requests } = await startFakeService((_, response) => {
        response.writeHead(201, { 'content-length': '50' });
        response.write('{"cron_job_id": "c1"');
      });
      const { http } = client(baseUrl, { clock: systemClock, deadline: Date.now() + ms });
      const error = await errorOf(http);
      // Without a status, no response had begun.
      return error.info.status === undefined ? undefined : { error, requests };
    });
    expectUnknown(error);
    expect(error.info.status).toBe(201);
    expect(requests).toHaveLength(1);
  });

  it('Ctrl-C in flight, after five seconds without a response', async () => {
    const control = new AbortController();
    const server = await startFakeService(() => control.abort());
    const clock = fastClock();
    const { http } = client(server.baseUrl, { clock, interrupt: control.signal });
    expectUnknown(await errorOf(http));
    expect(clock.slept).toEqual([5_000]);
    expect(server.requests).toHaveLength(1);
  });

  it('Ctrl-C in flight, followed by a reset', async () => {
    const control = new AbortController();
    const server = await startFakeService((_, response) => {
      control.abort();
      response.socket?.resetAndDestroy();
    });
    const { http } = client(server.baseUrl, { clock: systemClock, interrupt: control.signal });
    expectUnknown(await errorOf(http));
    expect(server.requests).toHaveLength(1);
  });

  it('but Ctrl-C in flight does no harm if the response still arrives', async () => {
    const control = new AbortController();
    const server = await startFakeService((_, response) => {
      control.abort();
      sendJson(response, { id: 'c1' }, 201);
    });
    const { http } = client(server.baseUrl, { clock: systemClock, interrupt: control.signal });
    expect(await createCronJob(http, JOB, 120_000)).toBe('c1');
    expect(server.requests).toHaveLength(1);
  });
});

it('an unexpected error proves nothing', () => {
  expect(provesNothingDone(new TypeError('a bug'))).toBe(false);
  expect(provesNothingDone(undefined)).toBe(false);
});
