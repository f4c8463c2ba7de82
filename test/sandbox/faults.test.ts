import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createRequestMatcher, type Fault, FaultInjector } from '../../src/sandbox/faults.ts';
import type { FaultPlan } from '../../src/sandbox/sandbox.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { createChat, HISTORY, manualClock } from '../support/sandbox-chat.ts';
import {
  openConnection,
  PROVISION,
  provisionBody,
  SPACES,
  startTestSandbox,
  type TestSandbox,
} from '../support/sandbox-client.ts';
import { CRON_JOBS, jobBody } from '../support/sandbox-cron.ts';
import { ATTACHMENTS, fileForm, postForm, sha256, waitForLoggedRequest } from '../support/sandbox-uploads.ts';

type Rule = FaultPlan['rules'][number];

const POST = `POST ${PROVISION}`;

function withFaults(...rules: Rule[]): Promise<TestSandbox> {
  return startTestSandbox({ faults: { rules, seed: 1 } });
}

function provision({ partner }: TestSandbox, headers: Record<string, string> = {}) {
  return partner('POST', PROVISION, { body: provisionBody('acme'), headers });
}

async function countSpaces({ partner }: TestSandbox): Promise<number> {
  return (await partner('GET', SPACES)).json.count;
}

/** Sends a GET on a bare connection. @returns what is received, and how the connection ends */
function exchange(on: TestSandbox, path: string): Promise<{ text: string; end: string }> {
  const headers = `Host: localhost\r\nAuthorization: Bearer ${on.token}\r\n`;
  return openConnection(on, `GET /v1${path} HTTP/1.1\r\n${headers}\r\n`).whole;
}

/** The status and the fault of every logged request. */
async function loggedFaults({ admin }: TestSandbox): Promise<unknown[]> {
  const { requests } = (await admin('GET', '/requests')).json;
  return requests.map(({ status, fault }: { status: number | null; fault: string | null }) => [status, fault]);
}

describe('the fault "status"', () => {
  test('before processing, creates nothing', async () => {
    const on = await withFaults({ on: POST, kind: 'status', status: 503, retry_after: 7 });
    const response = await provision(on, { 'x-request-id': 'r1' });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(response.headers.get('x-request-id')).toBe('r1');
    expect(response.json.error).toMatchObject({ code: 'service_unavailable', request_id: 'r1' });
    expect(await countSpaces(on)).toBe(0);
    expect(await loggedFaults(on)).toEqual([
      [503, 'status/before'],
      [200, null],
    ]);
  });

  test('after processing, creates the space and hides the true response', async () => {
    const on = await withFaults({ on: POST, kind: 'status', status: 500, stage: 'after' });
    const response = await provision(on);
    expect([response.status, response.json.error.code]).toEqual([500, 'internal_error']);
    expect(response.text).not.toContain('acme');
    expect(await countSpaces(on)).toBe(1);
  });

  test('after processing, removes every header of the true response', async () => {
    const on = await withFaults({ on: 'DELETE', kind: 'status', status: 500, stage: 'after' });
    const response = await on.partner('DELETE', SPACES, { headers: { 'x-request-id': 'r1' } });
    expect(response.status).toBe(500);
    expect(response.headers.has('allow')).toBe(false);
    expect(response.headers.get('x-request-id')).toBe('r1');
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  test('sends Retry-After as a date, or not at all', async () => {
    const date = 'Thu, 01 Jan 2026 12:00:11 GMT';
    const on = await withFaults(
      { on: POST, kind: 'status', status: 429, retry_after: date, times: 1 },
      { on: POST, kind: 'status', status: 429 },
    );
    expect((await provision(on)).headers.get('retry-after')).toBe(date);
    const second = await provision(on);
    expect(second.headers.has('retry-after')).toBe(false);
    expect(second.json.error.code).toBe('rate_limited');
  });
});

describe('the fault "reset"', () => {
  test.each([
    ['before', 0],
    ['after', 1],
  ] as const)('%s processing: the connection is reset with %i spaces created', async (stage, created) => {
    const on = await withFaults({ on: POST, kind: 'reset', stage });
    const failure = await provision(on).catch((error) => error);
    expect(failure.cause.code).toBe('ECONNRESET');
    expect(await countSpaces(on)).toBe(created);
    expect((await loggedFaults(on))[0]).toEqual([null, `reset/${stage}`]);
  });

  test('reaches the client as a TCP reset without a byte', async () => {
    const on = await withFaults({ kind: 'reset' });
    expect(await exchange(on, SPACES)).toEqual({ text: '', end: 'ECONNRESET' });
  });
});

describe('the fault "cut"', () => {
  test('sends the status, the headers, and the full length, but only half of the body', async () => {
    const on = await withFaults({ on: 'GET', kind: 'cut' });
    await provision(on);
    const { text, end } = await exchange(on, SPACES);
    expect(end).toBe('ended');
    const [head = '', body = ''] = text.split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    expect(length).toBeGreaterThan(100);
    expect(body).toHaveLength(Math.floor(length / 2));
    expect(body).toMatch(/^\{"count":1,/);
  });

  test('on a write happens after it was processed', async () => {
    const on = await withFaults({ on: POST, kind: 'cut' });
    await expect(provision(on)).rejects.toThrow();
    expect(await countSpaces(on)).toBe(1);
    expect((await loggedFaults(on))[0]).toEqual([201, 'cut/after']);
  });
});

/** Whether a promise is still pending after the service has responded to another request. */
async function isPending({ admin }: TestSandbox, promise: Promise<unknown>): Promise<boolean> {
  const other = admin('GET', '/settings').then(() => 'other');
  return (await Promise.race([promise.then(() => 'this'), other])) === 'other';
}

describe('the fault "stall"', () => {
  test.each([
    ['before', 0],
    ['after', 1],
  ] as const)('%s processing: no response comes, with %i spaces created', async (stage, created) => {
    const on = await withFaults({ on: POST, kind: 'stall', stage });
    const abort = new AbortController();
    const response = fetch(`${on.sandbox.baseUrl}${PROVISION}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${on.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(provisionBody('acme')),
      signal: abort.signal,
    });
    await waitForLoggedRequest(on, ({ fault, body }) => fault === `stall/${stage}` && (created === 0 || body !== null));
    expect(await countSpaces(on)).toBe(created);
    expect(await isPending(on, response)).toBe(true);
    abort.abort(new Error('gave up'));
    await expect(response).rejects.toThrow('gave up');
    expect((await loggedFaults(on))[0]).toEqual([null, `stall/${stage}`]);
  });

  test('with headers sends the headers, but no body', async () => {
    const on = await withFaults({ kind: 'stall', send: 'headers' });
    const abort = new AbortController();
    const headers = { authorization: `Bearer ${on.token}` };
    const response = await fetch(`${on.sandbox.baseUrl}${SPACES}`, { headers, signal: abort.signal });
    expect(response.status).toBe(200);
    const body = response.text();
    expect(await isPending(on, body)).toBe(true);
    abort.abort(new Error('gave up'));
    await expect(body).rejects.toThrow('gave up');
    expect((await loggedFaults(on))[0]).toEqual([200, 'stall/before']);
  });

  test('ends when the sandbox closes', async () => {
    const on = await withFaults({ kind: 'stall' });
    const exchanged = exchange(on, SPACES);
    await waitForLoggedRequest(on, ({ fault }) => fault === 'stall/before');
    await on.sandbox.close();
    expect((await exchanged).text).toBe('');
  });
});

test('the fault "delay" sends the true response later, without a leak warning if there are many', async () => {
  const warnings: string[] = [];
  const collect = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', collect);
  onTestFinished(() => void process.off('warning', collect));
  const on = await withFaults({ on: POST, kind: 'delay', ms: 80 });
  const started = performance.now();
  const responses = await Promise.all(Array.from({ length: 12 }, () => provision(on)));
  expect(responses.map(({ status }) => status).toSorted()).toEqual([...Array(11).fill(200), 201]);
  expect(performance.now() - started).toBeGreaterThanOrEqual(75);
  expect(warnings).toEqual([]);
});

describe('the fault "late"', () => {
  test.each([
    [{}, 504, 'gateway_timeout'],
    [{ status: 502 }, 502, 'bad_gateway'],
  ] as const)('with %j answers %i at once, and carries the request out later', async (more, status, code) => {
    const on = await withFaults({ on: POST, kind: 'late', ms: 100, ...more });
    const response = await provision(on, { 'x-request-id': 'r1' });
    expect([response.status, response.json.error.code]).toEqual([status, code]);
    expect(response.headers.get('x-request-id')).toBe('r1');
    await expect.poll(() => countSpaces(on), { interval: 20 }).toBe(1);
    expect((await loggedFaults(on))[0]).toEqual([status, 'late']);
  });

  test('does nothing before its time, and never once the sandbox is closed', async () => {
    const on = await withFaults({ on: 'POST', kind: 'late', ms: 600_000 });
    expect((await provision(on)).status).toBe(504);
    expect((await postForm(on, ATTACHMENTS, fileForm('x'))).status).toBe(504);
    expect(await countSpaces(on)).toBe(0);
    expect((await on.admin('GET', '/uploads')).json.uploads).toEqual([]);
    await on.sandbox.close();
  });

  test('preserves the bytes of an upload', async () => {
    const on = await withFaults({ on: 'POST', kind: 'late', ms: 50 });
    const content = 'x'.repeat(300_000);
    expect((await postForm(on, ATTACHMENTS, fileForm(content))).status).toBe(504);
    const hashes = async () =>
      (await on.admin('GET', '/uploads')).json.uploads.map((upload: { sha256: string }) => upload.sha256);
    await expect.poll(hashes, { interval: 20 }).toEqual([sha256(content)]);
  });

  test('hides the rejection of a request that is invalid or unknown', async () => {
    const on = await withFaults({ kind: 'late', ms: 1, times: 3 });
    expect((await on.partner('POST', PROVISION, { body: {} })).status).toBe(504);
    expect((await on.partner('POST', '/nothing/', { body: {} })).status).toBe(504);
    expect((await on.partner('GET', SPACES)).status).toBe(504);
    expect(await countSpaces(on)).toBe(0);
  });
});

describe('the fault "stale"', () => {
  test('omits from lists and the history what is younger than `ms`', async () => {
    const clock = manualClock();
    const on = await startTestSandbox({ ...clock, faults: { rules: [{ kind: 'stale', ms: 1_000 }] } });
    const chat = await createChat(on);
    await on.partner('POST', CRON_JOBS, { body: jobBody(chat.agent_id) });
    await postForm(on, ATTACHMENTS, fileForm('x'));
    await chat.send('Hello');
    const agents = `${SPACES}${chat.space_id}/agents/`;
    const history = `${HISTORY}?source_id=${chat.source_id}&session_id=s1`;
    const lengths = () =>
      Promise.all(
        [SPACES, agents, CRON_JOBS, ATTACHMENTS, history].map(
          async (path) => (await on.partner('GET', path)).json.results.length,
        ),
      );
    clock.advance(49);
    expect(await lengths()).toEqual([0, 0, 0, 0, 0]);
    expect((await on.partner('GET', SPACES)).json.count).toBe(0);
    clock.advance(951);
    // The reply, 50 ms after the message, is not old enough.
    expect(await lengths()).toEqual([1, 1, 1, 1, 1]);
    clock.advance(50);
    expect(await lengths()).toEqual([1, 1, 1, 1, 2]);
  });

  test('is used up by reads only', async () => {
    const on = await withFaults({ kind: 'stale', ms: 600_000, times: 1 });
    expect((await provision(on)).status).toBe(201);
    expect(await countSpaces(on)).toBe(0);
    expect(await countSpaces(on)).toBe(1);
  });
});

test('the fault "html" sends an error page of a proxy', async () => {
  const on = await withFaults({ on: POST, kind: 'html', stage: 'after' });
  const response = await provision(on);
  expect(response.status).toBe(502);
  expect(response.headers.get('content-type')).toMatch(/^text\/html/);
  expect(response.text).toContain('<h1>502 Bad Gateway</h1>');
  expect(await countSpaces(on)).toBe(1);
});

test('the fault "garbage" sends 200 with a body that is not JSON', async () => {
  const { sandbox, token } = await withFaults({ kind: 'garbage' });
  const response = await fetch(`${sandbox.baseUrl}${SPACES}`, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json');
  await expect(response.json()).rejects.toThrow(SyntaxError);
});

describe('a fault plan', () => {
  test('is used up only by authenticated partner requests, never by others or by the admin API', async () => {
    const on = await withFaults({ kind: 'status', status: 503, times: 1 });
    const elsewhere = await on.sandbox.createToken({ allowed_ip_cidrs: ['10.0.0.1'] });
    expect((await on.partner('GET', SPACES, { token: 'pat_wrong' })).status).toBe(401);
    expect((await on.partner('GET', SPACES, { token: elsewhere })).status).toBe(403);
    await on.admin('PATCH', '/settings', { balance_usd: 0 });
    expect((await on.partner('GET', SPACES)).status).toBe(402);
    await on.admin('PATCH', '/settings', { balance_usd: 1 });
    expect((await on.partner('GET', SPACES)).status).toBe(503);
    expect((await on.partner('GET', SPACES)).status).toBe(200);
  });

  test('is shown and replaced on the admin API, with its seed so that a run can be repeated', async () => {
    const { admin, partner } = await startTestSandbox({ random: () => 0.5 });
    expect((await admin('GET', '/faults')).json).toEqual({ rules: [], seed: 0x8000_0000 });
    const put = await admin('PUT', '/faults', { rules: [{ kind: 'status', status: 500, times: 1 }] });
    const rule = { kind: 'status', status: 500, times: 1, rate: 1, skip: 0, stage: 'before' };
    expect(put.json).toEqual({ rules: [rule], seed: 0x8000_0000 });
    expect((await admin('GET', '/faults')).json).toEqual(put.json);
    expect((await partner('GET', SPACES)).status).toBe(500);
    expect((await partner('GET', SPACES)).status).toBe(200);
    expect((await admin('PUT', '/faults', put.json)).json).toEqual(put.json);
    expect((await partner('GET', SPACES)).status).toBe(500);
  });

  test('prevents the start of the sandbox if it is invalid', async () => {
    const faults = { rules: [{ kind: 'reset', rate: -1 }] } as const;
    await expect(startTestSandbox({ faults: { rules: [...faults.rules] } })).rejects.toThrow(/rules\[0\]\.rate/);
  });
});

describe('the injector', () => {
  function rule(more: Partial<Pick<Fault, 'on' | 'rate' | 'times' | 'skip'>> = {}): Fault {
    return { kind: 'reset', stage: 'before', rate: 1, skip: 0, ...more };
  }

  function createInjector(rules: Fault[], seed: number): FaultInjector {
    return new FaultInjector({ rules, seed }, Math.random);
  }

  test.each([
    [undefined, 'GET', '/v1/automation/spaces/', true],
    ['GET', 'GET', '/v1/automation/spaces/', true],
    ['GET', 'POST', '/v1/automation/spaces/', false],
    ['/automation/spaces/', 'POST', '/v1/automation/spaces/', true],
    ['* /automation/', 'DELETE', '/v1/automation/spaces/', true],
    ['GET /v1/automation/spaces/', 'GET', '/v1/automation/spaces/', true],
    ['GET /automation/spaces/', 'GET', '/v1/automation/spaces/s1/agents/', true],
    ['GET /automation/spaces/$', 'GET', '/v1/automation/spaces/s1/agents/', false],
    ['GET /automation/spaces/$', 'GET', '/v1/automation/spaces/', true],
    ['GET /automation/spaces/:space_id/agents/', 'GET', '/v1/automation/spaces/s1/agents/', true],
    ['GET /automation/spaces/*/agents/$', 'GET', '/v1/automation/spaces/s1/agents/', true],
    ['GET /automation/spaces/*/agents/', 'GET', '/v1/automation/spaces/', false],
    ['GET /automation/spaces/*$', 'GET', '/v1/automation/spaces/s1', true],
    ['GET /automation/spaces/*$', 'GET', '/v1/automation/spaces/s1/agents/', false],
    ['GET /automation.spaces/', 'GET', '/v1/automation/spaces/', false],
    ['GET /v1$', 'GET', '/v1', true],
  ])('matches a rule on %s with %s %s: %s', (on, method, path, expected) => {
    expect(createRequestMatcher(on)(method, path)).toBe(expected);
  });

  test('uses the first rule that applies; a later rule counts only the requests that pass it', () => {
    const first = rule({ on: 'GET', times: 2 });
    const second = rule({ skip: 1 });
    const injector = createInjector([first, second], 0);
    const faults = Array.from({ length: 5 }, () => injector.next('GET', '/v1/'));
    expect(faults).toEqual([first, first, undefined, second, second]);
  });

  test('produces the same faults for the same seed, and others for another', () => {
    const hits = (seed: number): boolean[] => {
      const injector = createInjector([rule({ rate: 0.5 })], seed);
      return Array.from({ length: 64 }, () => injector.next('GET', '/v1/') !== undefined);
    };
    expect(hits(42)).toEqual(hits(42));
    expect(hits(42)).not.toEqual(hits(43));
  });

  test('injects about as often as the rate says, whatever the seed', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), fc.double({ min: 0, max: 1, noNaN: true }), (seed, rate) => {
        const injector = createInjector([rule({ rate })], seed);
        let hits = 0;
        for (let count = 0; count < 2_000; count += 1) if (injector.next('GET', '/v1/')) hits += 1;
        // Six standard deviations at the widest.
        expect(Math.abs(hits / 2_000 - rate)).toBeLessThan(0.07);
      }),
      { numRuns: propertyRuns(50) },
    );
  });

  test('injects nothing within the first `skip` requests, and at most `times` faults', () => {
    const limits = fc.record({ skip: fc.nat(20), times: fc.nat(20), rate: fc.constantFrom(0.3, 1) });
    fc.assert(
      fc.property(limits, fc.nat(), ({ skip, times, rate }, seed) => {
        const injector = createInjector([rule({ skip, times, rate })], seed);
        const hits = Array.from({ length: 60 }, () => injector.next('GET', '/v1/') !== undefined);
        expect(hits.slice(0, skip)).not.toContain(true);
        expect(hits.filter(Boolean).length).toBeLessThanOrEqual(times);
        if (rate === 1) expect(hits.filter(Boolean).length).toBe(times);
      }),
    );
  });
});
