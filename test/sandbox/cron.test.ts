import { describe, expect, test } from 'vitest';
import { CRON_JOBS, createCronClient, jobBody, scheduleBody } from '../support/cron.ts';
import { PROVISION, provisionBody, SPACES, service } from '../support/service.ts';

/** A sandbox whose clock stands at a time, and a client for the jobs of one agent. */
async function startAt(start: string) {
  const on = await service({ now: () => Date.parse(start) });
  const client = await createCronClient(on);
  await client.clock({ frozen: true });
  return { ...on, ...client };
}

describe('creating a job', () => {
  test.each([
    ['0 9 sat,Sun', 'UTC', '2026-01-03T09:00:00.000Z'],
    ['0 9 5-7', 'America/New_York', '2026-01-02T14:00:00.000Z'],
  ])('with the schedule %s (%s) runs it next at %s', async (fields, timezone, next) => {
    const { create } = await startAt('2026-01-01T00:00:00Z');
    expect((await create(fields, timezone)).next_run_at).toBe(next);
  });

  test('refuses an invalid schedule or time zone', async () => {
    const { post } = await startAt('2026-01-01T00:00:00Z');
    for (const [fields, timezone] of [
      ['60 9 *', 'UTC'],
      ['0 9 fri-mon', 'UTC'],
      ['0 9 *', 'Mars/Olympus'],
      ['0 9 5L', 'UTC'],
      ['0 9 ?', 'UTC'],
      ['0 9 1#2', 'UTC'],
      ['0 jan *', 'UTC'],
    ] as const) {
      const { status, json } = await post(scheduleBody(fields, timezone));
      expect([status, json.error.fields[0].path]).toEqual([422, 'schedule']);
    }
  });
});

test('A schedule has the type cron, the three fields of the specification, and a time zone, and none of them a space', async () => {
  const { post } = await startAt('2026-01-01T00:00:00Z');
  const data = { minute: '0', hour: '9', day_of_week: '1-5' };
  const valid = { type: 'cron', data, timezone: 'UTC' };
  expect((await post({ schedule: valid })).status).toBe(201);
  for (const wrong of [
    { type: 'interval' },
    { data: { ...data, day_of_month: '1' } },
    { data: { ...data, minute: '0 9' } },
    { timezone: undefined },
  ]) {
    expect((await post({ schedule: { ...valid, ...wrong } })).status, JSON.stringify(wrong)).toBe(422);
  }
});

test('A run of a job whose agent has no API chat source sets up none', async () => {
  const { partner, admin } = await service({ now: () => Date.parse('2026-01-01T08:59:00Z') });
  const agents = [{ template_id: 'tmpl_support', name: 'Support' }];
  const { json } = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
  const [{ agent_id }] = json.agents;
  await partner('POST', CRON_JOBS, { body: jobBody(agent_id, scheduleBody('0 9 *')) });
  await admin('PATCH', '/clock', { advance: '2m' });
  expect((await admin('GET', '/cron-jobs')).json.cron_jobs).toMatchObject([
    { last_run_at: '2026-01-01T09:00:00.000Z' },
  ]);
  const listed = await partner('GET', `${SPACES}${json.space.space_id}/agents/`);
  expect(listed.json.results).toMatchObject([{ integrations: { api_chat: null } }]);
});

test('The same job again is another one', async () => {
  const { create, jobs } = await startAt('2026-01-01T00:00:00Z');
  const made = [await create('0 9 *'), await create('0 9 *')];
  expect(await jobs()).toEqual(made);
  expect(new Set(made.map(({ cron_job_id }) => cron_job_id)).size).toBe(2);
});

describe('a run', () => {
  test("is a message with the instructions in the job's session, and the agent replies", async () => {
    const { create, history, chat, clock, jobs } = await startAt('2026-01-01T08:59:00Z');
    const job = await create('0 9 *', 'UTC', { instructions: 'Write the report.\r\n' });
    await clock({ advance: '2m' });
    const [prompt, reply, ...more] = await history(job);
    expect(prompt).toEqual({
      message_id: expect.stringMatching(/^msg_/),
      source_id: chat.source_id,
      session_id: `cron:${job.cron_job_id}`,
      role: 'user',
      text: 'Write the report.\r\n',
      external_message_id: 'cron:2026-01-01T09:00:00.000Z',
      run_id: expect.stringMatching(/^run_/),
      created_at: '2026-01-01T09:00:00.000Z',
    });
    expect(reply).toMatchObject({ role: 'assistant', created_at: '2026-01-01T09:00:00.050Z' });
    expect(more).toEqual([]);
    expect(await jobs()).toMatchObject([
      { last_run_at: '2026-01-01T09:00:00.000Z', next_run_at: '2026-01-02T09:00:00.000Z' },
    ]);
  });

  test.each([
    ['spring', '30 2 *', 'Europe/Berlin', '2026-03-27T12:00:00Z', ['28T01:30', '29T01:00', '30T00:30', '31T00:30']],
    ['fall', '30 2 *', 'Europe/Berlin', '2026-10-23T12:00:00Z', ['24T00:30', '25T00:30', '26T01:30', '27T01:30']],
  ])('of a daily job happens once a day across the clock change (%s)', async (_, fields, timezone, start, expected) => {
    const { create, clock, runs } = await startAt(start);
    const job = await create(fields, timezone);
    await clock({ advance: `${expected.length}d` });
    expect(await runs(job)).toEqual(expected.map((time) => `${start.slice(0, 8)}${time}:00.000Z`));
  });

  test('of a deleted job no longer happens', async () => {
    const { admin, create, jobs, clock, runs } = await startAt('2026-01-01T00:00:00Z');
    const [deleted, kept] = [await create('0 * *'), await create('0 * *')];
    expect((await admin('GET', '/cron-jobs')).json.cron_jobs).toEqual([deleted, kept]);
    expect((await admin('DELETE', `/cron-jobs/${deleted.cron_job_id}`)).status).toBe(204);
    expect((await admin('DELETE', `/cron-jobs/${deleted.cron_job_id}`)).status).toBe(404);
    await clock({ advance: '1h' });
    expect([await runs(deleted), await runs(kept)]).toEqual([[], ['2026-01-01T01:00:00.000Z']]);
    expect((await jobs()).map(({ cron_job_id }) => cron_job_id)).toEqual([kept.cron_job_id]);
  });
});
