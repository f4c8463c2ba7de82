import { describe, expect, test } from 'vitest';
import { createChat, manualClock } from '../support/sandbox-chat.ts';
import { call, startTestSandbox } from '../support/sandbox-client.ts';
import { CRON_JOBS, createCronClient, jobBody, scheduleBody } from '../support/sandbox-cron.ts';

/** A Thursday. */
const START = Date.UTC(2026, 0, 1);

async function withAgent() {
  const clock = manualClock(START);
  const on = await startTestSandbox(clock);
  return { ...on, ...(await createCronClient(on)), advance: clock.advance };
}

describe('creating a job', () => {
  test('returns the job with its id, its creation date, and its next run', async () => {
    const { post, chat } = await withAgent();
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

  test('with the same body again creates another job', async () => {
    const { post, jobs } = await withAgent();
    const created = [(await post()).json, (await post()).json];
    expect(created[0].cron_job_id).not.toBe(created[1].cron_job_id);
    expect(await jobs()).toEqual(created);
  });

  test('keeps the fields unchanged', async () => {
    const { post } = await withAgent();
    const schedule = scheduleBody('*/15 08,20 mon-FRI', 'utc');
    const body = { name: '  Ünïcode  ', instructions: 'line 1\r\nline 2\n', ...schedule };
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
  ])('with the schedule %s (%s) runs it next at %s', async (fields, timezone, next) => {
    const { create } = await withAgent();
    expect((await create(fields, timezone)).next_run_at).toBe(next);
  });

  test.each([
    ['minute', ['60', '-1', '5-1', '*/0', '1,,2', '', 'a', '?', 'L', '0 9', '1.5', '5/10', '*\n']],
    ['hour', ['24', '*/24/2', 'mon', '#', ' 9', '9-']],
    ['day_of_week', ['8', 'fri-mon', 'mon#1', '5L', 'monday', 'L', '?', '1 *', 'W', '+1', '5-1']],
  ])('rejects invalid cron fields for %s', async (field, texts) => {
    const { post, jobs } = await withAgent();
    for (const text of texts) {
      const data = { minute: '0', hour: '9', day_of_week: '*', [field]: text };
      const { status, json } = await post({ schedule: { type: 'cron', data, timezone: 'UTC' } });
      expect([text, status, json.error.fields?.map(({ path }: { path: string }) => path)]).toEqual([
        text,
        422,
        [`schedule.data.${field}`],
      ]);
      expect(json.error.message).toContain(`must be a cron field for ${field.replaceAll('_', ' ')}`);
    }
    expect(await jobs()).toEqual([]);
  });

  test('for an unknown agent is 404, but only with a valid body', async () => {
    const { post, jobs } = await withAgent();
    const { status, json } = await post({ agent_id: 'agt_none' });
    expect([status, json.error.code]).toEqual([404, 'agent_not_found']);
    expect((await post({ agent_id: 'agt_none', name: '' })).status).toBe(422);
    expect(await jobs()).toEqual([]);
  });
});

describe('listing jobs', () => {
  test('with an agent_id returns only the jobs of that agent, on every page', async () => {
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
    const { create, jobs, advance } = await withAgent();
    await create('0 9 *');
    advance(33 * 3_600_000);
    expect(await jobs()).toMatchObject([
      { last_run_at: '2026-01-02T09:00:00.000Z', next_run_at: '2026-01-03T09:00:00.000Z' },
    ]);
  });

  test('on the admin API shows the session of the runs; a deleted job no longer runs', async () => {
    const { admin, create, jobs, chat, runs, advance } = await withAgent();
    const [deleted, kept] = [await create('0 * *'), await create('0 * *')];
    const { cron_jobs } = (await admin('GET', '/cron-jobs')).json;
    const place = ({ cron_job_id }: { cron_job_id: string }) => ({ session_id: `cron:${cron_job_id}` });
    expect(cron_jobs).toEqual([deleted, kept].map((job) => ({ ...job, ...place(job), source_id: chat.source_id })));
    expect((await admin('DELETE', `/cron-jobs/${deleted.cron_job_id}`)).status).toBe(204);
    expect((await admin('DELETE', `/cron-jobs/${deleted.cron_job_id}`)).json.error.code).toBe('cron_job_not_found');
    advance(3_600_000);
    expect([await runs(deleted), await runs(kept)]).toEqual([[], ['2026-01-01T01:00:00.000Z']]);
    expect((await jobs()).map(({ cron_job_id }) => cron_job_id)).toEqual([kept.cron_job_id]);
  });

  test('is empty after a reset, and no job runs', async () => {
    const { admin, create, jobs, advance, ...on } = await withAgent();
    await create('* * *');
    await admin('POST', '/reset', {});
    advance(600_000);
    expect(await jobs()).toEqual([]);
    expect(await (await createChat({ admin, ...on })).history()).toEqual([]);
  });
});
