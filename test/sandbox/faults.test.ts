import { describe, expect, onTestFinished, test } from 'vitest';
import type { FaultPlan } from '../../src/sandbox/faults.ts';
import { createChat, HISTORY } from '../support/chat.ts';
import { CRON_JOBS, jobBody } from '../support/cron.ts';
import { ATTACHMENTS, fileForm, openConnection, postForm, sha256, waitForLoggedRequest } from '../support/forms.ts';
import { PROVISION, provisionBody, SPACES, startTestSandbox, type TestSandbox } from '../support/service.ts';

type Rule = FaultPlan['rules'][number];

const POST = `POST ${PROVISION}`;

function withFaults(...rules: Rule[]): Promise<TestSandbox> {
  return startTestSandbox({ faults: { rules, seed: 1 } });
}

function provision({ partner }: TestSandbox, headers: Record<string, string> = {}) {
  return partner('POST', PROVISION, { body: provisionBody('acme'), headers });
}

const countSpaces = async ({ partner }: TestSandbox): Promise<number> => (await partner('GET', SPACES)).json.count;

/** Sends a GET on a bare connection. @returns what is received, and how the connection ends */
function exchange(on: TestSandbox, path: string): Promise<{ text: string; end: string }> {
  const headers = `Host: localhost\r\nAuthorization: Bearer ${on.token}\r\n`;
  return openConnection(on, `GET /v1${path} HTTP/1.1\r\n${headers}\r\n`).whole;
}

/** The status and the fault of the first request that was received. */
async function firstLogged({ admin }: TestSandbox): Promise<unknown[]> {
  const [{ status, fault }] = (await admin('GET', '/requests')).json.requests;
  return [status, fault];
}

test.each([
  ['before', 0],
  ['after', 1],
] as const)('"status" %s processing sends an error, with %i spaces created', async (stage, created) => {
  const on = await withFaults({ on: POST, kind: 'status', status: 503, retry_after: 7, stage });
  const response = await provision(on, { 'x-request-id': 'r1' });
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '7']);
  expect(response.json.error).toMatchObject({ code: 'service_unavailable', request_id: 'r1' });
  expect(await countSpaces(on)).toBe(created);
  expect(await firstLogged(on)).toEqual([503, `status/${stage}`]);
});

test.each([
  ['before', 0],
  ['after', 1],
] as const)('"reset" %s processing resets the connection, with %i spaces created', async (stage, created) => {
  const on = await withFaults({ on: POST, kind: 'reset', stage });
  const failure = await provision(on).catch((error) => error);
  expect(failure.cause.code).toBe('ECONNRESET');
  expect(await countSpaces(on)).toBe(created);
  expect(await firstLogged(on)).toEqual([null, `reset/${stage}`]);
});

test('"reset" with at_bytes resets the connection in the middle of the body', async () => {
  const on = await withFaults({ on: 'POST', kind: 'reset', at_bytes: 50_000 });
  await expect(postForm(on, ATTACHMENTS, fileForm('x'.repeat(10_000_000)))).rejects.toThrow();
  expect((await on.admin('GET', '/uploads')).json.uploads).toEqual([]);
});

test('"cut" sends the headers and the full length, but only half of the body; a write was processed', async () => {
  const on = await withFaults({ kind: 'cut' });
  await expect(provision(on)).rejects.toThrow();
  expect(await firstLogged(on)).toEqual([201, 'cut/after']);
  const { text, end } = await exchange(on, SPACES);
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
  expect([end, head.slice(0, 15), body.slice(0, 11)]).toEqual(['ended', 'HTTP/1.1 200 OK', '{"count":1,']);
  expect(body).toHaveLength(Math.floor(length / 2));
});

test.each([
  ['nothing', '', null],
  ['headers', 'HTTP/1.1 200 OK', 200],
] as const)('"stall" with %s sends no body for as long as the client waits', async (send, received, status) => {
  const on = await withFaults({ kind: 'stall', send });
  const request = `GET /v1${SPACES} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${on.token}\r\n\r\n`;
  const { socket, whole, first } = openConnection(on, request);
  await waitForLoggedRequest(on, ({ fault }) => fault === 'stall/before');
  if (send === 'headers') expect(await first()).toContain(received);
  expect((await on.admin('GET', '/settings')).status).toBe(200);
  socket.destroy();
  const { text } = await whole;
  expect([text.slice(0, received.length), text.split('\r\n\r\n')[1] ?? '']).toEqual([received, '']);
  expect(await firstLogged(on)).toEqual([status, 'stall/before']);
});

test('"delay" sends the true response later, without a warning of Node if there are many', async () => {
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

test('"late" sends an error at once, and carries the request out later, byte for byte', async () => {
  const on = await withFaults({ on: 'POST', kind: 'late', ms: 50 });
  const content = 'x'.repeat(300_000);
  const response = await postForm(on, ATTACHMENTS, fileForm(content));
  expect([response.status, response.json.error.code]).toEqual([504, 'gateway_timeout']);
  const hashes = async () =>
    (await on.admin('GET', '/uploads')).json.uploads.map((upload: { sha256: string }) => upload.sha256);
  await expect.poll(hashes).toEqual([sha256(content)]);
  expect(await firstLogged(on)).toEqual([504, 'late']);
});

test('"html" sends the error page of a gateway, and "garbage" 200 without JSON', async () => {
  const on = await withFaults({ on: POST, kind: 'html', stage: 'after' }, { on: 'GET', kind: 'garbage', times: 1 });
  const page = await provision(on);
  expect([page.status, page.headers.get('content-type')]).toEqual([502, 'text/html; charset=utf-8']);
  expect(page.text).toContain('<h1>502 Bad Gateway</h1>');
  const response = await fetch(`${on.sandbox.baseUrl}${SPACES}`, { headers: { authorization: `Bearer ${on.token}` } });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  await expect(response.json()).rejects.toThrow(SyntaxError);
  expect(await countSpaces(on)).toBe(1);
});

test('"stale" hides what is younger from lists and the history, and is used up by reads only', async () => {
  const on = await startTestSandbox({ now: () => Date.UTC(2026, 0, 1) });
  await on.admin('PATCH', '/clock', { frozen: true });
  await on.admin('PUT', '/faults', { rules: [{ kind: 'stale', ms: 1_000 }] });
  const chat = await createChat(on);
  await on.partner('POST', CRON_JOBS, { body: jobBody(chat.agent_id) });
  await postForm(on, ATTACHMENTS, fileForm('x'));
  await chat.send('Hello');
  const history = `${HISTORY}?source_id=${chat.source_id}&session_id=s1`;
  const paths = [SPACES, `${SPACES}${chat.space_id}/agents/`, CRON_JOBS, ATTACHMENTS, history];
  const lengths = () => Promise.all(paths.map(async (path) => (await on.partner('GET', path)).json.results.length));
  await on.admin('PATCH', '/clock', { advance: '999ms' });
  expect(await lengths()).toEqual([0, 0, 0, 0, 0]);
  await on.admin('PATCH', '/clock', { advance: '1ms' });
  // The reply is 50 ms younger.
  expect(await lengths()).toEqual([1, 1, 1, 1, 1]);
});

test.each<[Rule, string[][]]>([
  [
    { kind: 'repeat', messages: 3 },
    [
      ['1', '2'],
      ['1', '2', '3', '4'],
      ['2', '3', '4', '5'],
    ],
  ],
  [{ kind: 'reorder' }, [['2', '1'], ['4', '3'], ['5']]],
  [{ kind: 'short_page' }, [['1'], ['2'], ['3'], ['4'], ['5']]],
])('The history with %j has the pages %j', async (rule, pages) => {
  const on = await withFaults(rule);
  const chat = await createChat(on);
  const place = { source_id: chat.source_id, session_id: 's1', role: 'assistant' };
  await on.admin('POST', '/messages', { ...place, text: '{n}', count: 5 });
  const seen: string[][] = [];
  for (let after: Record<string, string> | undefined = {}; after; ) {
    const { json } = await chat.page({ page_size: '2', ...after });
    seen.push(json.results.map(({ text }: { text: string }) => text));
    const cursor: string | null = json.next && new URL(json.next).searchParams.get('after_message_id');
    after = cursor === null ? undefined : { after_message_id: cursor };
  }
  expect(seen).toEqual(pages);
});

describe('a rule', () => {
  const agents = `${SPACES}spc_1/agents/`;

  test.each([
    [undefined, ['GET', SPACES], true],
    ['GET', ['GET', SPACES], true],
    ['POST', ['GET', SPACES], false],
    ['GET /automation', ['GET', SPACES], true],
    ['GET /v1/automation/sp', ['GET', SPACES], true],
    [`GET ${SPACES}`, ['GET', agents], true],
    [`GET ${SPACES}$`, ['GET', agents], false],
    [`GET ${SPACES}$`, ['GET', SPACES], true],
    [`${SPACES}*/agents/`, ['GET', agents], true],
    [`${SPACES}:space_id/agents/$`, ['GET', agents], true],
    [`${SPACES}spc_2/agents/`, ['GET', agents], false],
    [`${SPACES}*/agents/`, ['GET', SPACES], false],
  ] as const)('on %j matches %j: %s', async (on, [method, path], isMatch) => {
    const { partner } = await withFaults({ kind: 'status', status: 410, ...(on && { on }) });
    expect((await partner(method, path)).status === 410).toBe(isMatch);
  });

  test('skips, and ends after its times; the first that applies is used', async () => {
    const on = await withFaults(
      { kind: 'status', status: 500, skip: 1, times: 2 },
      { kind: 'status', status: 503, times: 1 },
    );
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1) statuses.push((await on.partner('GET', SPACES)).status);
    expect(statuses).toEqual([503, 500, 500, 200, 200]);
  });

  test('with a rate fails that share, the same requests each time with the same seed', async () => {
    const statuses = async (seed: number): Promise<number[]> => {
      const on = await startTestSandbox({ faults: { rules: [{ kind: 'status', status: 500, rate: 0.3 }], seed } });
      const sent: number[] = [];
      for (let count = 0; count < 100; count += 1) sent.push((await on.partner('GET', SPACES)).status);
      return sent;
    };
    const first = await statuses(7);
    expect(first.filter((status) => status === 500).length).toBeGreaterThan(15);
    expect(first.filter((status) => status === 500).length).toBeLessThan(45);
    expect(await statuses(7)).toEqual(first);
    expect(await statuses(8)).not.toEqual(first);
  });

  test('is used up only by authenticated requests, and never by the admin API', async () => {
    const on = await withFaults({ kind: 'status', status: 503, times: 1 });
    expect((await on.partner('GET', SPACES, { token: 'pat_wrong' })).status).toBe(401);
    await on.admin('PATCH', '/settings', { balance_usd: 0 });
    expect((await on.partner('GET', SPACES)).status).toBe(402);
    await on.admin('PATCH', '/settings', { balance_usd: 1 });
    expect((await on.partner('GET', SPACES)).status).toBe(503);
  });

  test('that matches no request is named', async () => {
    const rules: Rule[] = [
      { kind: 'reset', on: `POST ${SPACES}$` },
      { kind: 'stale', on: 'POST', ms: 1 },
      { kind: 'reset', on: `GET ${SPACES}spc_1/agents/$` },
    ];
    const warnings = [
      `Fault rule 1 (reset), on "POST ${SPACES}$", matches no request of the service, so it never happens.`,
      'Fault rule 2 (stale), on "POST", matches no request of the service, so it never happens.',
    ];
    const { sandbox, admin } = await withFaults(...rules);
    expect(sandbox.unmatchedFaults).toEqual(warnings);
    expect((await admin('PUT', '/faults', { rules })).json.warnings).toEqual(warnings);
  });

  test.each([
    [{ kind: 'explode' }, 'rules[0].kind'],
    [{ kind: 'status' }, 'rules[0].status'],
    [{ kind: 'reset', stage: 'after', at_bytes: 5 }, 'rules[0].at_bytes'],
    [{ kind: 'cut', stage: 'before' }, 'rules[0].stage'],
    [{ kind: 'reset', on: 'get /x' }, 'rules[0].on'],
    [{ kind: 'delay' }, 'rules[0].ms'],
  ])('%j is refused, and names %s', async (rule, path) => {
    const { admin } = await startTestSandbox();
    const { status, json } = await admin('PUT', '/faults', { rules: [rule] });
    expect([status, json.error.fields[0].path]).toEqual([422, path]);
  });

  test('is shown with its defaults and a seed, with which it can be repeated', async () => {
    const { admin } = await startTestSandbox();
    const put = await admin('PUT', '/faults', { rules: [{ kind: 'status', status: 500, times: 1 }] });
    const rule = { kind: 'status', status: 500, times: 1, rate: 1, skip: 0, stage: 'before' };
    expect(put.json).toEqual({ rules: [rule], seed: expect.any(Number) });
    expect((await admin('GET', '/faults')).json).toEqual(put.json);
    expect((await admin('PUT', '/faults', put.json)).json).toEqual(put.json);
  });
});
