import { describe, expect, test } from 'vitest';
import { nextMoment } from '../../src/sandbox/cron/moments.ts';
import type { Script } from '../../src/sandbox/sandbox.ts';
import { cpuMsOf } from '../helpers/cpu.ts';
import { createChat, manualClock } from './chat.ts';
import { startTestSandbox } from './client.ts';
import { createCronClient } from './cron.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A sandbox whose clock begins at a moment. */
async function at(start: string, script: Script = [], mode: 'agent_inbox' | 'session_workflow' = 'session_workflow') {
  const machine = manualClock(Date.parse(start));
  const on = await startTestSandbox({ ...machine, script });
  return { machine, on, ...(await createCronClient(on, mode)) };
}

describe('a run', () => {
  test('is a message with the instructions in the session of the job, which the agent answers', async () => {
    const { machine, create: make, history: said, chat } = await at('2026-01-01T08:59:00Z');
    const job = await make('0 9 *', 'UTC', { instructions: 'Write the report.\r\n' });
    machine.advance(MINUTE + 50);
    const [prompt, reply, ...more] = await said(job);
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

  test('is answered as the script has it', async () => {
    const replies = [{ text: 'On it.' }, { text: 'The $1 is done.', delay_ms: 5_000 }];
    const {
      create: make,
      history: said,
      clock,
    } = await at('2026-01-01T08:59:00Z', [{ pattern: 'write the (\\w+)', replies }]);
    const job = await make('0 9 *', 'UTC', { instructions: 'Please write the report' });
    await clock({ advance: '1d' });
    expect((await said(job)).map(({ text }) => text)).toEqual([
      'Please write the report',
      'On it.',
      'The report is done.',
    ]);
  });

  test('gives the agent a source when it has none, and the agent listing shows it', async () => {
    const machine = manualClock(Date.UTC(2026, 0, 1));
    const on = await startTestSandbox(machine);
    const { space_id, agent_id } = await createChat(on, 'agent_inbox', { name: 'Bare', auto_create_api_chat: false });
    const plan = await createCronClient(on);
    const job = await plan.create('* * *', 'UTC', { agent_id });
    machine.advance(3 * MINUTE);
    const { json } = await on.partner('GET', `/automation/spaces/${space_id}/agents/`);
    const { source_id } = json.results[0].integrations.api_chat;
    const entries = await plan.chat.history({ source_id, session_id: `cron:${job.cron_job_id}` });
    expect(entries.filter(({ role }) => role === 'user')).toHaveLength(3);
  });

  test('is not answered by an agent that is not capable of replies', async () => {
    const { machine, create: make, on, chat } = await at('2026-01-01T00:00:00Z');
    const { agent_id, space_id } = await createChat(on, 'agent_inbox', { name: 'Mute', auto_create_api_chat: false });
    const path = `/automation/spaces/${space_id}/agents/${agent_id}/api-chat/`;
    const { source_id } = (await on.partner('POST', path, { body: { reply_capable: false } })).json;
    const { cron_job_id } = await make('0 * *', 'UTC', { agent_id });
    machine.advance(2 * HOUR);
    const entries = await chat.history({ source_id, session_id: `cron:${cron_job_id}` });
    expect(entries.map(({ role }) => role)).toEqual(['user', 'user']);
  });

  test.each([
    ['session_workflow', ['a', 'a', 'a', 'said a', 'said a', 'said a']],
    ['agent_inbox', ['a', 'a', 'a', 'said a', 'said a\na']],
  ] as const)('%s: runs that come while the agent is at work are taken as messages are', async (mode, texts) => {
    const script = [{ pattern: '.+', replies: [{ text: 'said $&', delay_ms: 10 * MINUTE }] }];
    const { create: make, history: said, clock, on } = await at('2026-01-01T00:00:00Z', script, mode);
    const job = await make('1-3 0 *', 'UTC', { instructions: 'a' });
    await clock({ advance: '1h' });
    expect((await said(job)).map(({ text }) => text)).toEqual(texts);
    expect((await on.admin('GET', '/clock')).json.now).toBe('2026-01-01T01:00:00.000Z');
  });

  test('two jobs alike run both', async () => {
    const { create: make, runs, clock } = await at('2026-01-01T00:00:00Z');
    const jobs = [await make('0 12 *'), await make('0 12 *')];
    await clock({ advance: '1d' });
    for (const job of jobs) expect(await runs(job)).toEqual(['2026-01-01T12:00:00.000Z']);
  });

  test('a caller may speak in the session of a job, too', async () => {
    const { create: make, history: said, clock, chat } = await at('2026-01-01T00:00:00Z');
    const job = await make('0 1 *', 'UTC', { instructions: 'report' });
    await clock({ advance: '1h' });
    await chat.send('and now?', { session_id: `cron:${job.cron_job_id}` });
    await clock({ advance: '1h' });
    expect((await said(job)).map(({ text }) => text)).toEqual([
      'report',
      'and now?',
      'You said: report',
      'You said: and now?',
    ]);
  });

  test('for a moment whose external id a caller has taken does not come as well, and the next one comes', async () => {
    const { create: make, runs, clock, chat } = await at('2026-01-01T00:00:00Z');
    const job = await make('0 * *');
    const session_id = `cron:${job.cron_job_id}`;
    await chat.send('mine', { session_id, external_message_id: 'cron:2026-01-01T01:00:00.000Z' });
    await clock({ advance: '2h' });
    expect(await runs(job)).toEqual(['2026-01-01T00:00:00.000Z', '2026-01-01T02:00:00.000Z']);
  });
});

describe('a week', () => {
  test('passes in a second', async () => {
    const { create: make, clock, runs, history: said } = await at('2026-06-01T00:00:00Z');
    const weekdays = await make('0 9 1-5', 'Europe/Berlin');
    const hourly = await make('30 * *');
    expect(await cpuMsOf(() => clock({ advance: '7d' }))).toBeLessThan(1_000);
    expect(await runs(weekdays)).toEqual([1, 2, 3, 4, 5].map((day) => `2026-06-0${day}T07:00:00.000Z`));
    expect(await runs(hourly)).toHaveLength(7 * 24);
    expect(await said(hourly)).toHaveLength(2 * 7 * 24);
  });

  test('with a run each minute has all of them, in order', async () => {
    const { create: make, clock, on, runs } = await at('2026-06-01T00:00:00Z');
    const job = await make('* * *', 'Europe/Berlin');
    await clock({ advance: '7d' });
    const moments = await runs(job);
    const expected = Array.from({ length: 7 * 1_440 }, (_, index) => Date.UTC(2026, 5, 1) + (index + 1) * MINUTE);
    expect(moments.map((moment) => Date.parse(moment))).toEqual(expected);
    expect((await on.admin('GET', '/cron-jobs')).json.cron_jobs[0].next_run_at).toBe('2026-06-08T00:01:00.000Z');
  });

  test.each([
    [
      'forward: nine o’clock stays nine o’clock',
      '2026-03-27T12:00:00Z',
      '0 9 *',
      ['28T08:00', '29T07:00', '30T07:00', '31T07:00'],
    ],
    [
      'forward: the one moment of a day in the gap is at its end',
      '2026-03-27T12:00:00Z',
      '30 2 *',
      ['28T01:30', '29T01:00', '30T00:30', '31T00:30'],
    ],
    [
      'back: nine o’clock stays nine o’clock',
      '2026-10-23T12:00:00Z',
      '0 9 *',
      ['24T07:00', '25T08:00', '26T08:00', '27T08:00'],
    ],
    [
      'back: the one moment of a day in the hour that comes twice is the first',
      '2026-10-23T12:00:00Z',
      '30 2 *',
      ['24T00:30', '25T00:30', '26T01:30', '27T01:30'],
    ],
  ])('in Berlin, %s', async (_, start, fields, expected) => {
    const { create: make, clock, runs } = await at(start);
    const job = await make(fields, 'Europe/Berlin');
    await clock({ advance: '4d' });
    expect(await runs(job)).toEqual(expected.map((moment) => `${start.slice(0, 8)}${moment}:00.000Z`));
  });

  test.each([
    ['2026-03-29T00:00:00Z', 7 * 24 - 1],
    ['2026-10-25T00:00:00Z', 7 * 24 + 1],
    ['2026-06-07T00:00:00Z', 7 * 24],
  ])('in Berlin from %s on has an hour of its own length, hour by hour', async (start, hours) => {
    // From local midnight on Sunday to local midnight on Sunday.
    const { create: make, clock, runs } = await at(new Date(Date.parse(start) - 2 * HOUR - MINUTE).toISOString());
    const job = await make('0 * *', 'Europe/Berlin');
    const local = (moment: string): string =>
      new Date(moment).toLocaleString('sv', { timeZone: 'Europe/Berlin' }).slice(0, 10);
    const [first, last] = [start.slice(0, 10), new Date(Date.parse(start) + 6 * 24 * HOUR).toISOString().slice(0, 10)];
    await clock({ advance: '9d' });
    const days = (await runs(job)).map(local).filter((day) => day >= first && day <= last);
    expect(days).toHaveLength(hours);
  });

  test.each([
    ['30 2 *', ['2026-10-03T15:30Z', '2026-10-04T15:30Z']],
    ['15 2 *', ['2026-10-03T15:30Z', '2026-10-04T15:15Z']],
  ])('with half an hour of summer time (%s)', async (fields, expected) => {
    const { create: make, clock, runs } = await at('2026-10-03T12:00:00Z');
    const job = await make(fields, 'Australia/Lord_Howe');
    await clock({ advance: '2d' });
    expect(await runs(job)).toEqual(expected.map((moment) => moment.replace('Z', ':00.000Z')));
  });
});

describe('the next moment', () => {
  const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'America/Santiago', 'Africa/Casablanca'];
  test.each(zones)('in %s is always later than the last one, and once a day for a daily job', (timezone) => {
    for (const [minute, hour, perYear] of [
      ['30', '2', 365],
      ['0', '0', 365],
      ['15', '*', undefined],
    ] as const) {
      const schedule = { type: 'cron', data: { minute, hour, day_of_week: '*' }, timezone } as const;
      const end = Date.UTC(2027, 0, 1, 12);
      let count = 0;
      for (let last = Date.UTC(2026, 0, 1, 12); ; count += 1) {
        const next = nextMoment(schedule, last);
        expect(next).toBeGreaterThan(last);
        if (next === undefined || next > end) break;
        last = next;
      }
      if (perYear !== undefined) expect(count).toBe(perYear);
    }
  });
});
