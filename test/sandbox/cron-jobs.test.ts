import { describe, expect, test } from 'vitest';
import { createChat, manualClock } from './chat.ts';
import { call, startTestSandbox } from './client.ts';
import { CRON_JOBS, createCronClient, jobBody, scheduleBody } from './cron.ts';

/** A Thursday. */
const START = Date.UTC(2026, 0, 1);

async function fresh() {
  const clock = manualClock(START);
  const on = await startTestSandbox(clock);
  return { ...on, ...(await createCronClient(on)), wait: clock.advance };
}

function fieldsOf(json: { error: { fields: { path: string; message: string }[] } }): Record<string, string> {
  return Object.fromEntries(json.error.fields.map(({ path, message }) => [path, message]));
}

describe('POST', () => {
  test('makes a job and gives it back with its id, its moment of birth and its next run', async () => {
    const { post, chat } = await fresh();
    const { status, json } = await post();
    expect(status).toBe(201);
    expect(json).toEqual({
      cron_job_id: expect.stringMatching(/^cron_[0-9a-f]{20}$/),
      ...jobBody(chat.agent_id),
      created_at: '2026-01-01T00:00:00.000Z',
      last_run_at: null,
      next_run_at: '2026-01-01T08:00:00.000Z',
    });
  });

  test('makes another job of the same body', async () => {
    const { post, jobs } = await fresh();
    const made = [(await post()).json, (await post()).json];
    expect(made[0].cron_job_id).not.toBe(made[1].cron_job_id);
    expect(await jobs()).toEqual(made);
  });

  test('keeps the fields as they came', async () => {
    const { post } = await fresh();
    const body = {
      name: '  Ünïcode  ',
      instructions: 'line 1\r\nline 2\n',
      ...scheduleBody('*/15 08,20 mon-FRI', 'utc'),
    };
    expect((await post(body)).json).toMatchObject(body);
  });

  test.each([
    ['0 9 1-5', 'UTC', '2026-01-01T09:00:00.000Z'],
    ['0 9 sat,Sun', 'UTC', '2026-01-03T09:00:00.000Z'],
    ['0 9 0', 'UTC', '2026-01-04T09:00:00.000Z'],
    ['0 9 7', 'UTC', '2026-01-04T09:00:00.000Z'],
    ['0 9 5-7', 'America/New_York', '2026-01-02T14:00:00.000Z'],
    ['10-50/20 * *', 'UTC', '2026-01-01T00:10:00.000Z'],
    ['* * *', 'Asia/Kolkata', '2026-01-01T00:01:00.000Z'],
    ['0 0 *', 'Asia/Kolkata', '2026-01-01T18:30:00.000Z'],
  ])('%s (%s) runs next at %s', async (fields, timezone, next) => {
    const { create: make } = await fresh();
    expect((await make(fields, timezone)).next_run_at).toBe(next);
  });

  test.each([
    ['minute', ['60', '-1', '5-1', '*/0', '1,,2', '', 'a', '?', 'L', '0 9', '1.5', '5/10', '*\n']],
    ['hour', ['24', '*/24/2', 'mon', '#', ' 9', '9-']],
    ['day_of_week', ['8', 'fri-mon', 'mon#1', '5L', 'monday', 'L', '?', '1 *', 'W', '+1', '5-1']],
  ])('refuses what is no cron field for %s', async (field, texts) => {
    const { post, jobs } = await fresh();
    for (const text of texts) {
      const data = { minute: '0', hour: '9', day_of_week: '*', [field]: text };
      const { status, json } = await post({ schedule: { type: 'cron', data, timezone: 'UTC' } });
      expect([text, status, Object.keys(json.error.fields ? fieldsOf(json) : {})]).toEqual([
        text,
        422,
        [`schedule.data.${field}`],
      ]);
      expect(json.error.message).toContain(`must be a cron field for ${field.replaceAll('_', ' ')}`);
    }
    expect(await jobs()).toEqual([]);
  });

  test.each(['Mars/Olympus', '', '+02:00', 'Europe', 'Europe/Berlin '])('knows no timezone %j', async (timezone) => {
    const { post } = await fresh();
    const { status, json } = await post(scheduleBody('0 9 *', timezone));
    expect([status, fieldsOf(json)]).toEqual([
      422,
      { 'schedule.timezone': `is not a known timezone: ${JSON.stringify(timezone)}` },
    ]);
  });

  test('names every wrong field at once', async () => {
    const { post } = await fresh();
    const { status, json } = await post({
      name: ' ',
      instructions: undefined,
      extra: 1,
      schedule: { type: 'interval', data: { minute: 0, hour: '9', day_of_month: '1' } },
    });
    expect(status).toBe(422);
    expect(fieldsOf(json)).toEqual({
      name: 'must not be empty',
      instructions: 'is required',
      extra: 'is not a known field',
      'schedule.type': 'must be cron',
      'schedule.data.minute': 'must be string, not 0',
      'schedule.data.day_of_week': 'is required',
      'schedule.data.day_of_month': 'is not a known field',
      'schedule.timezone': 'is required',
    });
  });

  test('an agent that there is not is 404, after the body is in order', async () => {
    const { post, jobs } = await fresh();
    const { status, json } = await post({ agent_id: 'agt_none' });
    expect([status, json.error.code]).toEqual([404, 'agent_not_found']);
    expect((await post({ agent_id: 'agt_none', name: '' })).status).toBe(422);
    expect(await jobs()).toEqual([]);
  });

  test('needs the scope cron_jobs.write, the list cron_jobs.read', async () => {
    const { sandbox, partner, chat } = await fresh();
    const reader = await sandbox.createToken({ scopes: ['cron_jobs.read'] });
    const writer = await sandbox.createToken({ scopes: ['cron_jobs.write'] });
    const body = jobBody(chat.agent_id);
    const statuses = [reader, writer].map(async (token) => [
      (await partner('POST', CRON_JOBS, { token, body })).status,
      (await partner('GET', CRON_JOBS, { token })).status,
    ]);
    expect(await Promise.all(statuses)).toEqual([
      [403, 200],
      [201, 403],
    ]);
  });

  test('is not processed under 1 USD or over the rate', async () => {
    const { admin, post, jobs } = await fresh();
    await admin('PATCH', '/settings', { balance_usd: 0.99 });
    expect((await post()).status).toBe(402);
    await admin('PATCH', '/settings', { balance_usd: 9, rate_limit: { requests: 1, per_seconds: 60 } });
    expect([(await post()).status, (await post()).status]).toEqual([201, 429]);
    await admin('PATCH', '/settings', { rate_limit: null });
    expect(await jobs()).toHaveLength(1);
  });

  test('is logged with its body; other methods are 405', async () => {
    const { admin, partner, post, chat } = await fresh();
    await post();
    const { requests } = (await admin('GET', '/requests')).json;
    expect(requests.at(-1)).toMatchObject({ route: `/v1${CRON_JOBS}`, status: 201, body: jobBody(chat.agent_id) });
    const refused = await partner('DELETE', CRON_JOBS);
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST, GET, HEAD']);
  });
});

describe('an answer that is lost after the job was made', () => {
  test.each([
    { kind: 'reset', stage: 'after' },
    { kind: 'cut' },
    { kind: 'status', status: 502, stage: 'after' },
    { kind: 'status', status: 429, stage: 'after' },
    { kind: 'html', stage: 'after' },
    { kind: 'garbage', stage: 'after' },
  ])('$kind $status', async (rule) => {
    const { admin, post, jobs } = await fresh();
    await admin('PUT', '/faults', { rules: [{ on: `POST ${CRON_JOBS}`, times: 1, ...rule }] });
    const lost = await post().then(
      ({ json }) => json?.cron_job_id,
      () => undefined,
    );
    expect(lost).toBeUndefined();
    expect(await jobs()).toHaveLength(1);
  });

  test('stall: the job is there while the caller still waits', async () => {
    const { admin, sandbox, token, chat, jobs } = await fresh();
    await admin('PUT', '/faults', { rules: [{ on: `POST ${CRON_JOBS}`, kind: 'stall', stage: 'after', times: 1 }] });
    const leaving = new AbortController();
    const body = JSON.stringify(jobBody(chat.agent_id));
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const stalled = fetch(`${sandbox.baseUrl}${CRON_JOBS}`, { method: 'POST', headers, body, signal: leaving.signal });
    await expect.poll(jobs).toHaveLength(1);
    leaving.abort();
    await expect(stalled).rejects.toThrow();
  });

  test('a fault before it makes no job', async () => {
    const { admin, post, jobs } = await fresh();
    await admin('PUT', '/faults', { rules: [{ on: `POST ${CRON_JOBS}`, kind: 'reset', times: 1 }] });
    await expect(post()).rejects.toThrow();
    expect(await jobs()).toEqual([]);
  });
});

describe('GET', () => {
  test('pages through all jobs, each once and in order', async () => {
    const { partner, post, token } = await fresh();
    const ids: string[] = [];
    for (let number = 0; number < 23; number += 1) ids.push((await post({ name: `job ${number}` })).json.cron_job_id);
    const pages: string[][] = [];
    let page = await partner('GET', `${CRON_JOBS}?page_size=10`);
    for (;;) {
      expect(page.json.count).toBe(23);
      pages.push(page.json.results.map(({ cron_job_id }: { cron_job_id: string }) => cron_job_id));
      if (page.json.next === null) break;
      page = await call('GET', page.json.next, { token });
    }
    expect(pages.map(({ length }) => length)).toEqual([10, 10, 3]);
    expect(pages.flat()).toEqual(ids);
  });

  test('of one agent has that agent’s jobs alone, on every page', async () => {
    const on = await startTestSandbox(manualClock(START));
    const [one, other] = [await createCronClient(on), await createCronClient(on, 'agent_inbox')];
    for (let number = 0; number < 3; number += 1) {
      await one.post();
      await other.post();
    }
    const first = await on.partner('GET', `${CRON_JOBS}?page_size=2&agent_id=${one.chat.agent_id}`);
    const second = await call('GET', first.json.next, { token: on.token });
    const back = await call('GET', second.json.previous, { token: on.token });
    expect(back.json).toEqual(first.json);
    const results = [...first.json.results, ...second.json.results];
    expect(results.map(({ agent_id }) => agent_id)).toEqual(Array(3).fill(one.chat.agent_id));
    expect([first.json.count, second.json.next]).toEqual([3, null]);
    expect((await on.partner('GET', `${CRON_JOBS}?agent_id=agt_none`)).json.results).toEqual([]);
  });

  test('shows the last and the next run', async () => {
    const { create: make, jobs, wait } = await fresh();
    await make('0 9 *');
    wait(33 * 3_600_000);
    expect(await jobs()).toMatchObject([
      { last_run_at: '2026-01-02T09:00:00.000Z', next_run_at: '2026-01-03T09:00:00.000Z' },
    ]);
  });
});

describe('the admin surface', () => {
  test('lists all jobs with the place of their runs, and ends one', async () => {
    const { admin, create: make, jobs, chat, runs, wait } = await fresh();
    const [gone, kept] = [await make('0 * *'), await make('0 * *')];
    const { cron_jobs } = (await admin('GET', '/cron-jobs')).json;
    const place = ({ cron_job_id }: { cron_job_id: string }) => ({ session_id: `cron:${cron_job_id}` });
    expect(cron_jobs).toEqual([gone, kept].map((job) => ({ ...job, ...place(job), source_id: chat.source_id })));
    expect((await admin('DELETE', `/cron-jobs/${gone.cron_job_id}`)).status).toBe(204);
    expect((await admin('DELETE', `/cron-jobs/${gone.cron_job_id}`)).json.error.code).toBe('cron_job_not_found');
    wait(3_600_000);
    expect([await runs(gone), await runs(kept)]).toEqual([[], ['2026-01-01T01:00:00.000Z']]);
    expect((await jobs()).map(({ cron_job_id }) => cron_job_id)).toEqual([kept.cron_job_id]);
  });

  test('a reset ends all jobs', async () => {
    const { admin, create: make, jobs, wait, ...on } = await fresh();
    await make('* * *');
    await admin('POST', '/reset', {});
    wait(600_000);
    expect(await jobs()).toEqual([]);
    expect(await (await createChat({ admin, ...on })).history()).toEqual([]);
  });
});
