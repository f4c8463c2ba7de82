import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { LoggedRequest } from '../../src/sandbox/request-log.ts';
import type { FaultPlan } from '../../src/sandbox/sandbox.ts';
import { PROVISION, provisionBody, SPACES, startTestSandbox, type TestSandbox } from './client.ts';

type Rule = FaultPlan['rules'][number];

const POST = `POST ${PROVISION}`;

function struck(...rules: Rule[]): Promise<TestSandbox> {
  return startTestSandbox({ faults: { rules, seed: 1 } });
}

function provision({ partner }: TestSandbox, headers?: Record<string, string>) {
  return partner('POST', PROVISION, { body: provisionBody('acme'), ...(headers && { headers }) });
}

async function spacesMade({ partner }: TestSandbox): Promise<number> {
  return (await partner('GET', SPACES)).json.count;
}

/** The bytes that come back on a bare socket before it ends, and how it ends. */
function exchange({ sandbox, token }: TestSandbox, path: string): Promise<{ text: string; end: string }> {
  const { hostname, port } = new URL(sandbox.baseUrl);
  return new Promise((resolve) => {
    let text = '';
    let end = 'closed';
    const socket = connect(Number(port), hostname, () => {
      socket.write(`GET /v1${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    });
    socket.setEncoding('utf8');
    socket.on('data', (data) => {
      text += data;
    });
    socket.on('end', () => {
      end = 'ended';
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      end = error.code ?? 'error';
    });
    socket.on('close', () => resolve({ text, end }));
  });
}

async function faultsLogged({ admin }: TestSandbox): Promise<unknown[]> {
  const { requests } = (await admin('GET', '/requests')).json;
  return requests.map(({ status, fault }: { status: number | null; fault: string | null }) => [status, fault]);
}

describe('status', () => {
  test('before: the request is not processed', async () => {
    const on = await struck({ on: POST, kind: 'status', status: 503, retry_after: 7 });
    const answer = await provision(on, { 'x-request-id': 'r1' });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('7');
    expect(answer.headers.get('x-request-id')).toBe('r1');
    expect(answer.json.error).toMatchObject({ code: 'service_unavailable', request_id: 'r1' });
    expect(await spacesMade(on)).toBe(0);
    expect(await faultsLogged(on)).toEqual([
      [503, 'status/before'],
      [200, null],
    ]);
  });

  test('after: the request is processed, and the true answer is not to be seen', async () => {
    const on = await struck({ on: POST, kind: 'status', status: 500, stage: 'after' });
    const answer = await provision(on);
    expect([answer.status, answer.json.error.code]).toEqual([500, 'internal_error']);
    expect(answer.text).not.toContain('acme');
    expect(await spacesMade(on)).toBe(1);
  });

  test("after: nothing of the true answer's headers is left", async () => {
    const on = await struck({ on: 'DELETE', kind: 'status', status: 500, stage: 'after' });
    const answer = await on.partner('DELETE', SPACES, { headers: { 'x-request-id': 'r1' } });
    expect(answer.status).toBe(500);
    expect(answer.headers.has('allow')).toBe(false);
    expect(answer.headers.get('x-request-id')).toBe('r1');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('Retry-After may be a date, or not there', async () => {
    const date = 'Thu, 01 Jan 2026 12:00:11 GMT';
    const on = await struck(
      { on: POST, kind: 'status', status: 429, retry_after: date, times: 1 },
      { on: POST, kind: 'status', status: 429 },
    );
    expect((await provision(on)).headers.get('retry-after')).toBe(date);
    const second = await provision(on);
    expect(second.headers.has('retry-after')).toBe(false);
    expect(second.json.error.code).toBe('rate_limited');
  });
});

describe('reset', () => {
  test.each([
    ['before', 0],
    ['after', 1],
  ] as const)('%s: the connection is reset and %i spaces are made', async (stage, made) => {
    const on = await struck({ on: POST, kind: 'reset', stage });
    const failure = await provision(on).catch((error) => error);
    expect(failure.cause.code).toBe('ECONNRESET');
    expect(await spacesMade(on)).toBe(made);
    expect((await faultsLogged(on))[0]).toEqual([null, `reset/${stage}`]);
  });

  test('reaches the client as a TCP reset without a byte', async () => {
    const on = await struck({ kind: 'reset' });
    expect(await exchange(on, SPACES)).toEqual({ text: '', end: 'ECONNRESET' });
  });
});

describe('cut', () => {
  test('the status, the headers, the full length, half of the body', async () => {
    const on = await struck({ on: 'GET', kind: 'cut' });
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

  test('a write that is cut was processed', async () => {
    const on = await struck({ on: POST, kind: 'cut' });
    await expect(provision(on)).rejects.toThrow();
    expect(await spacesMade(on)).toBe(1);
    expect((await faultsLogged(on))[0]).toEqual([201, 'cut/after']);
  });
});

/** Resolves once the first request in the log satisfies the test; the log is asked over connections of its own. */
async function untilLogged({ admin }: TestSandbox, test: (request: LoggedRequest) => boolean): Promise<void> {
  for (;;) {
    const [first]: LoggedRequest[] = (await admin('GET', '/requests')).json.requests;
    if (first && test(first)) return;
  }
}

/** Whether a promise is still pending after the service has answered another request. */
async function isPending({ admin }: TestSandbox, promise: Promise<unknown>): Promise<boolean> {
  const other = admin('GET', '/settings').then(() => 'other');
  return (await Promise.race([promise.then(() => 'this'), other])) === 'other';
}

describe('stall', () => {
  test.each([
    ['before', 0],
    ['after', 1],
  ] as const)('%s: no answer while the client waits, and %i spaces are made', async (stage, made) => {
    const on = await struck({ on: POST, kind: 'stall', stage });
    const patience = new AbortController();
    const answer = fetch(`${on.sandbox.baseUrl}${PROVISION}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${on.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(provisionBody('acme')),
      signal: patience.signal,
    });
    await untilLogged(on, ({ fault, body }) => fault === `stall/${stage}` && (made === 0 || body !== null));
    expect(await spacesMade(on)).toBe(made);
    expect(await isPending(on, answer)).toBe(true);
    patience.abort(new Error('out of patience'));
    await expect(answer).rejects.toThrow('out of patience');
    expect((await faultsLogged(on))[0]).toEqual([null, `stall/${stage}`]);
  });

  test('with headers: the body does not come', async () => {
    const on = await struck({ kind: 'stall', send: 'headers' });
    const patience = new AbortController();
    const headers = { authorization: `Bearer ${on.token}` };
    const answer = await fetch(`${on.sandbox.baseUrl}${SPACES}`, { headers, signal: patience.signal });
    expect(answer.status).toBe(200);
    const body = answer.text();
    expect(await isPending(on, body)).toBe(true);
    patience.abort(new Error('out of patience'));
    await expect(body).rejects.toThrow('out of patience');
    expect((await faultsLogged(on))[0]).toEqual([200, 'stall/before']);
  });

  test('closing the sandbox ends it', async () => {
    const on = await struck({ kind: 'stall' });
    const exchanged = exchange(on, SPACES);
    await untilLogged(on, ({ fault }) => fault === 'stall/before');
    await on.sandbox.close();
    expect((await exchanged).text).toBe('');
  });
});

describe('delay, html, garbage', () => {
  test('delay: the true answer, later', async () => {
    const on = await struck({ on: POST, kind: 'delay', ms: 80 });
    const started = performance.now();
    expect((await provision(on)).status).toBe(201);
    expect(performance.now() - started).toBeGreaterThanOrEqual(75);
  });

  test('delay: of many requests at once is no leak to Node', async () => {
    const warnings: string[] = [];
    const keep = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', keep);
    onTestFinished(() => void process.off('warning', keep));
    const on = await struck({ on: POST, kind: 'delay', ms: 80 });
    await Promise.all(Array.from({ length: 12 }, () => provision(on)));
    expect(warnings).toEqual([]);
  });

  test("html: a proxy's page", async () => {
    const on = await struck({ on: POST, kind: 'html', stage: 'after' }, { on: POST, kind: 'html', status: 504 });
    const answer = await provision(on);
    expect(answer.status).toBe(502);
    expect(answer.headers.get('content-type')).toMatch(/^text\/html/);
    expect(answer.text).toContain('<h1>502 Bad Gateway</h1>');
    expect(await spacesMade(on)).toBe(1);
  });

  test('garbage: 200 and no JSON', async () => {
    const { sandbox, token } = await struck({ kind: 'garbage' });
    const answer = await fetch(`${sandbox.baseUrl}${SPACES}`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    await expect(answer.json()).rejects.toThrow(SyntaxError);
  });
});

describe('the plan', () => {
  test('skip and times choose among the matching requests', async () => {
    const on = await struck({ on: `GET ${SPACES}`, kind: 'status', status: 503, skip: 1, times: 2 });
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1) statuses.push((await on.partner('GET', SPACES)).status);
    expect(statuses).toEqual([200, 503, 503, 200, 200]);
  });

  test('strikes partner requests that carry no token, and never the admin surface', async () => {
    const on = await struck({ kind: 'status', status: 503 });
    expect((await on.partner('GET', SPACES, { token: 'pat_wrong' })).status).toBe(503);
    expect((await on.admin('GET', '/settings')).status).toBe(200);
  });

  test('is shown and replaced by the admin surface, its seed told so that a run can be repeated', async () => {
    const { admin, partner } = await startTestSandbox({ random: () => 0.5 });
    expect((await admin('GET', '/faults')).json).toEqual({ rules: [], seed: 0x8000_0000 });
    const put = await admin('PUT', '/faults', { rules: [{ kind: 'status', status: 500, times: 1 }] });
    const filled = { kind: 'status', status: 500, times: 1, rate: 1, skip: 0, stage: 'before' };
    expect(put.json).toEqual({ rules: [filled], seed: 0x8000_0000 });
    expect((await admin('GET', '/faults')).json).toEqual(put.json);
    expect((await partner('GET', SPACES)).status).toBe(500);
    expect((await partner('GET', SPACES)).status).toBe(200);
    expect((await admin('PUT', '/faults', put.json)).json).toEqual(put.json);
    expect((await partner('GET', SPACES)).status).toBe(500);
  });

  test.each([
    [{ kind: 'explode' }, 'rules[0].kind'],
    [{ kind: 'status' }, 'rules[0].status'],
    [{ kind: 'status', status: 200 }, 'rules[0].status'],
    [{ kind: 'reset', rate: 2 }, 'rules[0].rate'],
    [{ kind: 'cut', stage: 'before' }, 'rules[0].stage'],
    [{ kind: 'reset', on: 'get /x' }, 'rules[0].on'],
    [{ kind: 'delay' }, 'rules[0].ms'],
  ])('%j is refused', async (rule, path) => {
    const { admin } = await startTestSandbox();
    const { status, json } = await admin('PUT', '/faults', { rules: [rule] });
    expect(status).toBe(422);
    expect(json.error.fields.map((field: { path: string }) => field.path)).toContain(path);
  });

  test('a plan that is not valid starts no sandbox', async () => {
    await expect(startTestSandbox({ faults: { rules: [{ kind: 'reset', rate: -1 }] } })).rejects.toThrow(
      /rules\[0\]\.rate/,
    );
  });
});
