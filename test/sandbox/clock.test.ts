import { describe, expect, test } from 'vitest';
import { scheduleInProcess } from '../../src/sandbox/time/schedule.ts';
import { createChat, manualClock } from './chat.ts';
import { startTestSandbox, type TestSandbox } from './client.ts';
import { createCronClient } from './cron.ts';

const START = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;

async function fresh() {
  const machine = manualClock(START);
  const on: TestSandbox = await startTestSandbox(machine);
  const now = async (): Promise<string> => (await on.admin('GET', '/clock')).json.now;
  return { machine, now, ...on, ...(await createCronClient(on)) };
}

async function said({ chat }: Awaited<ReturnType<typeof fresh>>): Promise<string[]> {
  return (await chat.history()).map(({ text, created_at }) => `${created_at} ${text}`);
}

describe('the clock', () => {
  test('runs along with that of the machine', async () => {
    const { machine, admin } = await fresh();
    machine.advance(1_500);
    expect((await admin('GET', '/clock')).json).toEqual({ now: '2026-01-01T00:00:01.500Z', frozen: false });
  });

  test('is that of every answer and every record', async () => {
    const { clock, partner, chat, create: make } = await fresh();
    await clock({ frozen: true, set: '2027-03-04T05:06:07Z' });
    const { headers } = await partner('GET', '/automation/spaces/');
    expect(headers.get('date')).toBe('Thu, 04 Mar 2027 05:06:07 GMT');
    await chat.send('Hello');
    expect((await chat.history())[0]?.created_at).toBe('2027-03-04T05:06:07.000Z');
    expect(await make('0 * *')).toMatchObject({ created_at: '2027-03-04T05:06:07.000Z' });
  });

  test('is moved by a duration or to a moment, and runs on from there', async () => {
    const { clock, machine, now } = await fresh();
    for (const [advance, ms] of [
      ['1w', 7 * DAY],
      ['2d', 2 * DAY],
      ['1.5h', 5_400_000],
      ['3m', 180_000],
      ['250ms', 250],
    ]) {
      const before = Date.parse(await now());
      expect(Date.parse((await clock({ advance })).json.now)).toBe(before + Number(ms));
    }
    expect((await clock({ set: '2026-02-01T00:00:00+01:00' })).json).toEqual({
      now: '2026-01-31T23:00:00.000Z',
      frozen: false,
    });
    machine.advance(1_000);
    expect(await now()).toBe('2026-01-31T23:00:01.000Z');
  });

  test('stands while it is frozen, is moved as it is, and runs on from where it stood', async () => {
    const { clock, machine, now } = await fresh();
    machine.advance(10);
    expect((await clock({ frozen: true })).json).toEqual({ now: '2026-01-01T00:00:00.010Z', frozen: true });
    machine.advance(5_000);
    expect(await now()).toBe('2026-01-01T00:00:00.010Z');
    expect((await clock({ advance: '1s' })).json).toEqual({ now: '2026-01-01T00:00:01.010Z', frozen: true });
    expect((await clock({ frozen: true })).json.now).toBe('2026-01-01T00:00:01.010Z');
    expect((await clock({ frozen: false })).json).toEqual({ now: '2026-01-01T00:00:01.010Z', frozen: false });
    machine.advance(5_000);
    expect(await now()).toBe('2026-01-01T00:00:06.010Z');
  });

  test.each([
    [{ set: '2025-12-31T23:59:59Z' }, 'set', 'must not be before 2026-01-01T00:00:00.000Z'],
    [{ set: '2037-01-01T00:00:00Z' }, 'set', 'must be within ten years'],
    [{ advance: '900w' }, 'advance', 'must be within ten years'],
    [{ set: 'tomorrow' }, 'set', 'must be a moment such as 2030-01-31T09:00:00Z'],
    [{ set: '2026-13-01T00:00:00Z' }, 'set', 'must be a moment such as 2030-01-31T09:00:00Z'],
    [{ advance: '-1d' }, 'advance', 'must be a duration such as 7d, 12h, 30m, 10s or 500ms'],
    [{ advance: '7' }, 'advance', 'must be a duration such as 7d, 12h, 30m, 10s or 500ms'],
    [{ advance: 7 }, 'advance', 'must be string, not 7'],
    [{ frozen: 'yes' }, 'frozen', 'must be boolean, not "yes"'],
    [{ freeze: true }, 'freeze', 'is not a known field'],
    [{ set: '2026-02-01T00:00:00Z', advance: '1d' }, '', 'must have set or advance, not both'],
  ])('refuses %j', async (change, path, message) => {
    const { admin, now } = await fresh();
    const { status, json } = await admin('PATCH', '/clock', change);
    expect([status, json.error.fields]).toEqual([422, [{ path, message }]]);
    expect(await now()).toBe('2026-01-01T00:00:00.000Z');
  });

  test('goes back to that of the machine with a reset', async () => {
    const { admin, clock, now, machine } = await fresh();
    await clock({ frozen: true, advance: '1d' });
    await admin('POST', '/reset', {});
    machine.advance(1);
    expect(await now()).toBe('2026-01-01T00:00:00.001Z');
  });
});

describe('what is due', () => {
  test('waits while the clock is frozen, and comes when it is moved, at its own moment', async () => {
    const on = await fresh();
    await on.clock({ frozen: true });
    await on.chat.send('Hello');
    on.machine.advance(DAY);
    expect(await on.chat.history()).toHaveLength(1);
    await on.clock({ advance: '49ms' });
    expect(await on.chat.history()).toHaveLength(1);
    await on.clock({ advance: '1d' });
    expect(await said(on)).toEqual(['2026-01-01T00:00:00.000Z Hello', '2026-01-01T00:00:00.050Z You said: Hello']);
  });

  test('comes by itself again when the clock runs on', async () => {
    const on = await fresh();
    await on.chat.send('Hello');
    on.machine.advance(20);
    await on.clock({ frozen: true });
    on.machine.advance(DAY);
    await on.clock({ frozen: false });
    on.machine.advance(29);
    expect(await on.chat.history()).toHaveLength(1);
    on.machine.advance(1);
    expect(await said(on)).toEqual(['2026-01-01T00:00:00.000Z Hello', '2026-01-01T00:00:00.050Z You said: Hello']);
  });

  test('is waited for anew after the clock was moved', async () => {
    const on = await fresh();
    const job = await on.create('0 * *');
    await on.clock({ advance: '59m' });
    on.machine.advance(60_000);
    expect(await on.runs(job)).toEqual(['2026-01-01T01:00:00.000Z']);
    on.machine.advance(3_600_000);
    expect(await on.runs(job)).toEqual(['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z']);
  });

  test('comes on the machine’s own timers', async () => {
    const on = await startTestSandbox();
    const chat = await createChat(on);
    await on.admin('PATCH', '/clock', { advance: '1d' });
    await chat.send('Hello');
    await expect.poll(() => chat.history()).toHaveLength(2);
  });

  test('happens in the order of its moments, across sessions and jobs', async () => {
    const script = [{ pattern: 'slow', replies: [{ text: 'late', delay_ms: 5_400_000 }] }];
    const machine = manualClock(START);
    const on = await startTestSandbox({ ...machine, script });
    const { create: make, clock, chat, history: saidIn } = await createCronClient(on);
    const hourly = await make('0 * *', 'UTC', { instructions: 'hourly' });
    const often = await make('*/20 * *', 'UTC', { instructions: 'often, and slow' });
    await chat.send('slow');
    await clock({ advance: '2h' });
    const all = [...(await chat.history()), ...(await saidIn(hourly)), ...(await saidIn(often))];
    const inOrder = all.map(({ created_at, text }) => `${created_at.slice(11)} ${text}`).toSorted();
    expect(inOrder).toEqual([
      '00:00:00.000Z slow',
      '00:20:00.000Z often, and slow',
      '00:40:00.000Z often, and slow',
      '01:00:00.000Z hourly',
      '01:00:00.000Z often, and slow',
      '01:00:00.050Z You said: hourly',
      '01:20:00.000Z often, and slow',
      '01:30:00.000Z late',
      '01:40:00.000Z often, and slow',
      '01:50:00.000Z late',
      '02:00:00.000Z hourly',
      '02:00:00.000Z often, and slow',
    ]);
  });

  test('leaves room for other requests, which see the clock on its way', async () => {
    const on = await fresh();
    await on.create('* * *');
    const moments: string[] = [];
    let arrived = false;
    const moving = on.clock({ frozen: true, advance: '3d' }).then(() => {
      arrived = true;
    });
    while (!arrived) moments.push(await on.now());
    await moving;
    const between = new Set(moments.filter((moment) => moment > '2026-01-01' && moment < '2026-01-04'));
    expect(between.size).toBeGreaterThan(5);
    expect(moments).toEqual(moments.toSorted());
  });

  test('moves that are asked for at the same time are made one after the other', async () => {
    const on = await fresh();
    const job = await on.create('0 * *');
    await Promise.all(Array.from({ length: 24 }, () => on.clock({ advance: '1h' })));
    expect(await on.now()).toBe('2026-01-02T00:00:00.000Z');
    expect(await on.runs(job)).toHaveLength(24);
    expect(new Set(await on.runs(job)).size).toBe(24);
  });

  test('a refused move holds up none after it', async () => {
    const on = await fresh();
    const statuses = [{ set: '2025-01-01T00:00:00Z' }, { advance: '1h' }].map(
      async (change) => (await on.admin('PATCH', '/clock', change)).status,
    );
    expect(await Promise.all(statuses)).toEqual([422, 200]);
  });

  test('a reset ends a move that is under way', async () => {
    const on = await fresh();
    await on.create('* * *');
    const moving = on.clock({ frozen: true, advance: '52w' });
    await expect.poll(on.now).not.toMatch(/^2026-01-01/);
    await on.admin('POST', '/reset', {});
    expect((await moving).json).toEqual({ now: '2026-01-01T00:00:00.000Z', frozen: false });
    expect(await (await createChat(on)).history()).toEqual([]);
  });

  test('closing ends a move that is under way', async () => {
    const on = await fresh();
    await on.create('* * *');
    const moving = on.admin('PATCH', '/clock', { advance: '500w' }).catch(() => 'ended');
    await expect.poll(on.now).not.toMatch(/^2026-01-01/);
    await on.sandbox.close();
    expect(await moving).toBe('ended');
  });
});

describe('timers', () => {
  test('there is one at a time, whatever happens, and none while the clock is frozen or the sandbox closed', async () => {
    const machine = manualClock(START);
    let running = 0;
    const schedule: typeof machine.schedule = (task, ms) => {
      let over = false;
      const end = (): void => {
        if (!over) running -= 1;
        over = true;
      };
      running += 1;
      const cancel = machine.schedule(() => {
        end();
        task();
      }, ms);
      return () => {
        end();
        cancel();
      };
    };
    const on = await startTestSandbox({ now: machine.now, schedule });
    const { create: make, chat, clock, jobs } = await createCronClient(on);
    expect(running).toBe(0);
    for (const fields of ['0 0 0', '0 * *', '*/5 * *']) await make(fields);
    for (let round = 0; round < 50; round += 1) {
      await chat.send(`${round}`);
      await clock({ advance: `${round}m` });
      expect(running).toBe(1);
      machine.advance(30);
      expect(running).toBe(1);
    }
    await clock({ frozen: true });
    expect(running).toBe(0);
    await clock({ frozen: false });
    expect(running).toBe(1);
    expect(await jobs()).toHaveLength(3);
    await on.sandbox.close();
    expect(running).toBe(0);
  });

  test('none keeps the process alive', () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const kept = setTimeout(() => undefined, 60_000);
    expect(timers()).toBe(before + 1);
    clearTimeout(kept);
    const cancel = scheduleInProcess(() => undefined, 60_000);
    expect(timers()).toBe(before);
    cancel();
  });
});
