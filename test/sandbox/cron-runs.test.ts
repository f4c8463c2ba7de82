import { describe, expect, test } from 'vitest';
import { nextRunAfter } from '../../src/sandbox/agents/cron-schedule.ts';
import type { Script } from '../../src/sandbox/sandbox.ts';
import { cpuMsOf } from '../support/cpu.ts';
import { createChat, manualClock, type RoutingMode } from '../support/sandbox-chat.ts';
import { startTestSandbox } from '../support/sandbox-client.ts';
import { createCronClient } from '../support/sandbox-cron.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A sandbox whose clock starts at a given time. */
async function startAt(start: string, script: Script = [], mode: RoutingMode = 'session_workflow') {
  const machine = manualClock(Date.parse(start));
  const on = await startTestSandbox({ ...machine, script });
  return { machine, on, ...(await createCronClient(on, mode)) };
}

describe('a run', () => {
  test("is a message with the instructions in the job's session, and the agent replies", async () => {
    const { machine, create, history, chat } = await startAt('2026-01-01T08:59:00Z');
    const job = await create('0 9 *', 'UTC', { instructions: 'Write the report.\r\n' });
    machine.advance(MINUTE + 50);
    const [prompt, reply, ...more] = await history(job);
    expect(more).toEqual([]);
    expect(prompt).toEqual({
      message_id: expect.stringMatching(/^msg_/),
      source_id: chat.source_id,
      session_id: `cron:${job.cron_job_id}`,
      cron_job_id: job.cron_job_id,
      role: 'user',
      text: 'Write the report.\r\n',
      external_message_id: 'cron:2026-01-01T09:00:00.000Z',
      in_reply_to: null,
      created_at: '2026-01-01T09:00:00.000Z',
    });
    expect(reply).toMatchObject({
      role: 'assistant',
      text: 'You said: Write the report.\r\n',
      in_reply_to: prompt?.message_id,
      created_at: '2026-01-01T09:00:00.050Z',
    });
    expect(reply).not.toHaveProperty('cron_job_id');
  });

  test('creates a source for an agent that has none', async () => {
    const machine = manualClock(Date.UTC(2026, 0, 1));
    const on = await startTestSandbox(machine);
    const { space_id, agent_id } = await createChat(on, 'agent_inbox', { name: 'Bare', auto_create_api_chat: false });
    const client = await createCronClient(on);
    const job = await client.create('* * *', 'UTC', { agent_id });
    machine.advance(3 * MINUTE);
    const { json } = await on.partner('GET', `/automation/spaces/${space_id}/agents/`);
    const { source_id } = json.results[0].integrations.api_chat;
    const entries = await client.chat.history({ source_id, session_id: `cron:${job.cron_job_id}` });
    expect(entries.filter(({ role }) => role === 'user')).toHaveLength(3);
  });

  test('gets no reply on a source that is not reply_capable', async () => {
    const { machine, create, on, chat } = await startAt('2026-01-01T00:00:00Z');
    const { agent_id, space_id } = await createChat(on, 'agent_inbox', { name: 'Mute', auto_create_api_chat: false });
    const path = `/automation/spaces/${space_id}/agents/${agent_id}/api-chat/`;
    const { source_id } = (await on.partner('POST', path, { body: { reply_capable: false } })).json;
    const { cron_job_id } = await create('0 * *', 'UTC', { agent_id });
    machine.advance(2 * HOUR);
    const entries = await chat.history({ source_id, session_id: `cron:${cron_job_id}` });
    expect(entries.map(({ role }) => role)).toEqual(['user', 'user']);
  });

  test.each([
    ['session_workflow', ['a', 'a', 'a', 'said a', 'said a', 'said a']],
    ['agent_inbox', ['a', 'a', 'a', 'said a', 'said a\na']],
  ] as const)('of a busy agent is routed by its mode %s', async (mode, texts) => {
    const script = [{ pattern: '.+', replies: [{ text: 'said $&', delay_ms: 10 * MINUTE }] }];
    const { create, history, clock, on } = await startAt('2026-01-01T00:00:00Z', script, mode);
    const job = await create('1-3 0 *', 'UTC', { instructions: 'a' });
    await clock({ advance: '1h' });
    expect((await history(job)).map(({ text }) => text)).toEqual(texts);
    expect((await on.admin('GET', '/clock')).json.now).toBe('2026-01-01T01:00:00.000Z');
  });

  test("is skipped when a caller's message has its external id, and the next one happens", async () => {
    const { create, runs, clock, chat } = await startAt('2026-01-01T00:00:00Z');
    const job = await create('0 * *');
    const session_id = `cron:${job.cron_job_id}`;
    await chat.send('mine', { session_id, external_message_id: 'cron:2026-01-01T01:00:00.000Z' });
    await clock({ advance: '2h' });
    expect(await runs(job)).toEqual(['2026-01-01T00:00:00.000Z', '2026-01-01T02:00:00.000Z']);
  });

  test('that was missed in the last minute is made up for after the machine slept; earlier ones are skipped', async () => {
    let now = Date.UTC(2026, 0, 1);
    const timers: (() => void)[] = [];
    const setTimer = (task: () => void): (() => void) => {
      timers.push(task);
      return () => undefined;
    };
    const { create, runs } = await createCronClient(await startTestSandbox({ now: () => now, setTimer }));
    const [often, hourly] = [await create('* * *'), await create('0 * *')];
    now += 3 * HOUR + 30 * MINUTE + 10_000;
    for (const wake of timers.splice(0)) wake();
    for (const wake of timers.splice(0)) wake();
    expect(await runs(often)).toEqual(['2026-01-01T03:30:10.000Z']);
    expect(await runs(hourly)).toEqual([]);
  });
});

describe('the schedule over a week', () => {
  test('runs jobs in less than a second of CPU time', async () => {
    const { create, clock, runs, history } = await startAt('2026-06-01T00:00:00Z');
    const weekdays = await create('0 9 1-5', 'Europe/Berlin');
    const hourly = await create('30 * *');
    expect(await cpuMsOf(() => clock({ advance: '7d' }))).toBeLessThan(1_000);
    expect(await runs(weekdays)).toEqual([1, 2, 3, 4, 5].map((day) => `2026-06-0${day}T07:00:00.000Z`));
    expect(await runs(hourly)).toHaveLength(7 * 24);
    expect(await history(hourly)).toHaveLength(2 * 7 * 24);
  });

  test('misses no minute of a day for a job of every minute', async () => {
    const { create, clock, on, runs } = await startAt('2026-06-01T00:00:00Z');
    const job = await create('* * *', 'Europe/Berlin');
    await clock({ advance: '1d' });
    const moments = await runs(job);
    const expected = Array.from({ length: 1_440 }, (_, index) => Date.UTC(2026, 5, 1) + (index + 1) * MINUTE);
    expect(moments.map((moment) => Date.parse(moment))).toEqual(expected);
    expect((await on.admin('GET', '/cron-jobs')).json.cron_jobs[0].next_run_at).toBe('2026-06-02T00:01:00.000Z');
  });

  test.each([
    ['spring', '0 9 *', 'Europe/Berlin', '2026-03-27T12:00:00Z', ['28T08:00', '29T07:00', '30T07:00', '31T07:00']],
    ['spring', '30 2 *', 'Europe/Berlin', '2026-03-27T12:00:00Z', ['28T01:30', '29T01:00', '30T00:30', '31T00:30']],
    ['fall', '0 9 *', 'Europe/Berlin', '2026-10-23T12:00:00Z', ['24T07:00', '25T08:00', '26T08:00', '27T08:00']],
    ['fall', '30 2 *', 'Europe/Berlin', '2026-10-23T12:00:00Z', ['24T00:30', '25T00:30', '26T01:30', '27T01:30']],
    ['half an hour', '30 2 *', 'Australia/Lord_Howe', '2026-10-02T12:00:00Z', ['02T16:00', '03T15:30', '04T15:30']],
    ['half an hour', '15 2 *', 'Australia/Lord_Howe', '2026-10-02T12:00:00Z', ['02T15:45', '03T15:30', '04T15:15']],
  ])(
    'runs a daily job once a day across the clock change (%s): %s (%s)',
    async (_, fields, timezone, start, expected) => {
      const { create, clock, runs } = await startAt(start);
      const job = await create(fields, timezone);
      await clock({ advance: `${expected.length}d` });
      expect(await runs(job)).toEqual(expected.map((moment) => `${start.slice(0, 8)}${moment}:00.000Z`));
    },
  );

  test.each([
    ['2026-03-29T00:00:00Z', 7 * 24 - 1],
    ['2026-10-25T00:00:00Z', 7 * 24 + 1],
    ['2026-06-07T00:00:00Z', 7 * 24],
  ])('in Berlin from %s runs an hourly job %i times', async (start, hours) => {
    // From local midnight on Sunday to local midnight on Sunday.
    const { create, clock, runs } = await startAt(new Date(Date.parse(start) - 2 * HOUR - MINUTE).toISOString());
    const job = await create('0 * *', 'Europe/Berlin');
    const toLocalDay = (moment: string): string =>
      new Date(moment).toLocaleString('sv', { timeZone: 'Europe/Berlin' }).slice(0, 10);
    const [first, last] = [start.slice(0, 10), new Date(Date.parse(start) + 6 * 24 * HOUR).toISOString().slice(0, 10)];
    await clock({ advance: '9d' });
    const days = (await runs(job)).map(toLocalDay).filter((day) => day >= first && day <= last);
    expect(days).toHaveLength(hours);
  });
});

test.each(['Europe/Berlin', 'Australia/Lord_Howe', 'America/Santiago', 'Africa/Casablanca'])(
  'the next run in %s is always later than the last one, and a daily job runs once a day',
  (timezone) => {
    for (const [minute, hour, runsPerYear] of [
      ['30', '2', 365],
      ['0', '0', 365],
      // The hours in which clocks change.
      ['15', '0-3,23', undefined],
    ] as const) {
      const schedule = { type: 'cron', data: { minute, hour, day_of_week: '*' }, timezone } as const;
      const end = Date.UTC(2027, 0, 1, 12);
      let count = 0;
      for (let last = Date.UTC(2026, 0, 1, 12); ; count += 1) {
        const next = nextRunAfter(schedule, last);
        expect(next).toBeGreaterThan(last);
        if (next === undefined || next > end) break;
        last = next;
      }
      if (runsPerYear !== undefined) expect(count).toBe(runsPerYear);
    }
  },
);
