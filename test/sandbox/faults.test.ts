import { describe, expect, test } from 'vitest';
import { createChat, HISTORY } from '../support/chat.ts';
import { CRON_JOBS, jobBody } from '../support/cron.ts';
import { PROVISION, provisionBody, SPACES, service, type TestSandbox } from '../support/service.ts';
import { ATTACHMENTS, fileForm, openConnection, postForm, sha256 } from '../support/uploads.ts';

const POST = `POST ${PROVISION}`;
const AGENTS = `${SPACES}:space_id/agents/`;

async function withFaults(rules: readonly object[], seed = 1): Promise<TestSandbox> {
  const on = await service();
  await on.admin('PUT', '/faults', { rules, seed });
  return on;
}

function provision({ partner }: TestSandbox) {
  return partner('POST', PROVISION, { body: provisionBody('acme') });
}

const countSpaces = async ({ partner }: TestSandbox): Promise<number> => (await partner('GET', SPACES)).json.count;

/** The status and the fault of the first request that was received. */
async function firstLogged({ admin }: TestSandbox): Promise<unknown[]> {
  const [{ status, fault }] = (await admin('GET', '/requests')).json.requests;
  return [status, fault];
}

test.each([
  ['before', 0],
  ['after', 1],
] as const)('"status" %s processing sends an error, with %i spaces created', async (stage, created) => {
  const on = await withFaults([{ on: POST, kind: 'status', status: 503, retry_after: 7, stage }]);
  const response = await provision(on);
  expect([response.status, response.headers['retry-after']]).toEqual([503, '7']);
  expect(response.json.error).toMatchObject({ request_id: response.headers['x-request-id'] });
  expect(await countSpaces(on)).toBe(created);
  expect(await firstLogged(on)).toEqual([503, `status/${stage}`]);
});

test('"cut" sends the headers and the full length, but only half of the body; a write was processed', async () => {
  const on = await withFaults([{ kind: 'cut' }]);
  await expect(provision(on)).rejects.toThrow();
  expect(await firstLogged(on)).toEqual([201, 'cut']);
  const headers = `Host: localhost\r\nAuthorization: Bearer ${on.token}\r\n`;
  const text = await openConnection(on, `GET /v1${SPACES} HTTP/1.1\r\n${headers}\r\n`).whole();
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
  expect([head.slice(0, 15), body.slice(0, 11)]).toEqual(['HTTP/1.1 200 OK', '{"count":1,']);
  expect(body).toHaveLength(Math.floor(length / 2));
});

test('"late" sends an error at once, and carries the request out later, by the clock of the service and byte for byte', async () => {
  const on = await withFaults([{ on: 'POST', kind: 'late', ms: 60_000 }]);
  await on.admin('PATCH', '/clock', { frozen: true });
  const content = 'x'.repeat(300_000);
  expect((await postForm(on, ATTACHMENTS, fileForm(content))).status).toBe(504);
  const hashes = async () =>
    (await on.admin('GET', '/uploads')).json.uploads.map((upload: { sha256: string }) => upload.sha256);
  await on.admin('PATCH', '/clock', { advance: '59s' });
  expect(await hashes()).toEqual([]);
  await on.admin('PATCH', '/clock', { advance: '1s' });
  await expect.poll(hashes).toEqual([sha256(content)]);
  expect(await firstLogged(on)).toEqual([504, 'late']);
});

test('"stale" hides what is younger from lists and the history, and is used up by reads only', async () => {
  const on = await service({ now: () => Date.UTC(2026, 0, 1) });
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

test('"dribble" sends the whole response some bytes at a time', async () => {
  const on = await withFaults([{ kind: 'dribble', ms: 1, bytes: 10 }]);
  expect((await provision(on)).json.space.external_space_id).toBe('acme');
  expect(await firstLogged(on)).toEqual([201, 'dribble']);
});

test('"spend" lowers the balance, until nothing is processed any more', async () => {
  const on = await withFaults([{ kind: 'spend', usd: 49.5 }]);
  const statuses: number[] = [];
  for (let count = 0; count < 3; count += 1) statuses.push((await on.partner('GET', SPACES)).status);
  expect(statuses).toEqual([200, 200, 200]);
  const { status, json } = await on.partner('GET', SPACES);
  expect([status, json.error.code]).toEqual([402, 'organization_balance_too_low']);
});

describe('a history', () => {
  async function withMessages(rule: object) {
    const on = await service({ now: () => Date.UTC(2026, 0, 1) });
    await on.admin('PATCH', '/clock', { frozen: true });
    const chat = await createChat(on);
    const add = { source_id: chat.source_id, session_id: 's1', role: 'assistant', text: 'reply {n}', count: 5 };
    await on.admin('POST', '/messages', add);
    await on.admin('PUT', '/faults', { rules: [{ on: 'GET', ...rule }] });
    const texts = async (query?: Record<string, string>) => (await chat.history(query)).map(({ text }) => text);
    return { ...on, chat, texts };
  }

  test('with "gaps" shows messages later than those behind them', async () => {
    const { admin, texts } = await withMessages({ kind: 'gaps', ms: 1_000 });
    expect(await texts()).toEqual(['reply 1', 'reply 3', 'reply 5']);
    await admin('PATCH', '/clock', { advance: '1s' });
    expect(await texts()).toHaveLength(5);
  });

  test('with "newest_first" has its pages in reverse, whatever comes in between', async () => {
    const { chat, texts } = await withMessages({ kind: 'newest_first' });
    expect(await texts({ page_size: '2' })).toEqual(['reply 5', 'reply 4', 'reply 3', 'reply 2', 'reply 1']);
    const { next, results } = (await chat.page({ page_size: '2' })).json;
    await chat.send('new');
    expect(results).toHaveLength(2);
    const { source_id: _, session_id: __, ...query } = Object.fromEntries(new URL(next).searchParams);
    expect(await texts(query)).toEqual(['reply 3', 'reply 2', 'reply 1']);
    const after_message_id = results[1].message_id;
    expect(await texts({ after_message_id })).toEqual(['new', 'reply 5']);
  });

  test('with "in_progress" has young replies half, until they are completed', async () => {
    const { admin, chat } = await withMessages({ kind: 'in_progress', ms: 1_000 });
    const first = async () => (await chat.page()).json.results[0];
    expect(await first()).toMatchObject({ text: 'repl', status: 'in_progress' });
    await admin('PATCH', '/clock', { advance: '1s' });
    expect(await first()).toMatchObject({ text: 'reply 1', status: 'completed' });
  });
});

describe('a rule', () => {
  test('is for the requests that its `on` names', async () => {
    const { partner, admin } = await service();
    for (const [on, status] of [
      [undefined, 410],
      ['GET', 410],
      ['POST', 404],
      [SPACES, 404],
      [AGENTS, 410],
      [`GET ${AGENTS}`, 410],
    ] as const) {
      await admin('PUT', '/faults', { rules: [{ kind: 'status', status: 410, ...(on && { on }) }] });
      expect([on, (await partner('GET', `${SPACES}spc_1/agents/`)).status]).toEqual([on, status]);
    }
  });

  test('skips, and ends after its times; the first that applies is used', async () => {
    const on = await withFaults([
      { kind: 'status', status: 500, skip: 1, times: 2 },
      { kind: 'status', status: 503, times: 1 },
    ]);
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1) statuses.push((await on.partner('GET', SPACES)).status);
    expect(statuses).toEqual([503, 500, 500, 200, 200]);
  });

  test('with a rate fails that share, the same requests each time with the same seed', async () => {
    const statuses = async (seed: number): Promise<number[]> => {
      const on = await withFaults([{ kind: 'status', status: 500, rate: 0.3 }], seed);
      const sent: number[] = [];
      for (let count = 0; count < 40; count += 1) sent.push((await on.partner('GET', SPACES)).status);
      return sent;
    };
    const first = await statuses(7);
    const failed = first.filter((status) => status === 500).length;
    expect([failed > 4, failed < 24]).toEqual([true, true]);
    expect(await statuses(7)).toEqual(first);
    expect(await statuses(8)).not.toEqual(first);
  });

  test('is shown with its defaults and a seed, with which it can be repeated; a wrong one is refused', async () => {
    const { admin } = await service();
    const put = await admin('PUT', '/faults', { rules: [{ kind: 'status', status: 500, times: 1 }] });
    const rule = { kind: 'status', status: 500, times: 1, rate: 1, skip: 0, stage: 'before' };
    expect(put.json).toEqual({ rules: [rule], seed: expect.any(Number) });
    expect((await admin('PUT', '/faults', put.json)).json).toEqual(put.json);
    for (const [wrong, path] of [
      [{ kind: 'status' }, 'rules[0].status'],
      [{ kind: 'reset', on: `POST ${SPACES}` }, 'rules[0].on'],
    ] as const) {
      const { status, json } = await admin('PUT', '/faults', { rules: [wrong] });
      expect([status, json.error.fields[0].path]).toEqual([422, path]);
    }
  });
});
