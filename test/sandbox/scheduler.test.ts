import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { setProcessTimer, TaskQueue } from '../../src/sandbox/scheduler.ts';
import { createChat, manualClock } from '../support/sandbox-chat.ts';
import { startTestSandbox } from '../support/sandbox-client.ts';
import { createCronClient } from '../support/sandbox-cron.ts';

const START = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;

async function withClock() {
  const machine = manualClock(START);
  const on = await startTestSandbox(machine);
  const now = async (): Promise<string> => (await on.admin('GET', '/clock')).json.now;
  return { machine, now, ...on, ...(await createCronClient(on)) };
}

async function timestampedTexts({ chat }: Awaited<ReturnType<typeof withClock>>): Promise<string[]> {
  return (await chat.history()).map(({ text, created_at }) => `${created_at} ${text}`);
}

describe('the task queue', () => {
  const entries = fc.array(
    fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      at: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
    }),
    { maxLength: 30 },
  );

  /** The keys of all tasks that are due, in the order in which they are taken. */
  function takeAll(queue: TaskQueue, until: number): string[] {
    const keys: string[] = [];
    for (let task = queue.take(until); task; task = queue.take(until)) {
      expect(task.at).toBeLessThanOrEqual(until);
      keys.push(task.key);
    }
    return keys;
  }

  test('returns tasks in the order of their times, then of insertion, and each key once', () => {
    fc.assert(
      fc.property(entries, fc.integer({ min: 0, max: 5 }), (set, until) => {
        const queue = new TaskQueue();
        // The model: a key that is set again for the same time keeps its place.
        const model = new Map<string, { at: number; order: number }>();
        for (const [order, { key, at }] of set.entries()) {
          queue.set(key, at, () => undefined);
          const former = model.get(key);
          model.delete(key);
          if (at !== undefined) model.set(key, { at, order: former?.at === at ? former.order : order });
          expect(queue.at(key)).toBe(at);
        }
        const expected = [...model].toSorted(([, one], [, other]) => one.at - other.at || one.order - other.order);
        expect(queue.nextAt).toBe(expected[0]?.[1].at);
        const due = expected.filter(([, { at }]) => at <= until).map(([key]) => key);
        expect(takeAll(queue, until)).toEqual(due);
        expect([...due, ...takeAll(queue, 5)]).toEqual(expected.map(([key]) => key));
        expect(queue.nextAt).toBeUndefined();
      }),
    );
  });

  test('returns the task that was set last for a key', () => {
    const queue = new TaskQueue();
    const ran: string[] = [];
    queue.set('a', 1, () => ran.push('first'));
    queue.set('a', 1, (at) => ran.push(`second at ${at}`));
    const task = queue.take(1);
    task?.run(task.at);
    expect(ran).toEqual(['second at 1']);
  });
});

describe('the clock', () => {
  test("runs with the machine's clock", async () => {
    const { machine, admin } = await withClock();
    machine.advance(1_500);
    expect((await admin('GET', '/clock')).json).toEqual({ now: '2026-01-01T00:00:01.500Z', frozen: false });
  });

  test('dates every response and every record', async () => {
    const { clock, partner, chat, create } = await withClock();
    await clock({ frozen: true, set: '2027-03-04T05:06:07Z' });
    const { headers } = await partner('GET', '/automation/spaces/');
    expect(headers.get('date')).toBe('Thu, 04 Mar 2027 05:06:07 GMT');
    await chat.send('Hello');
    expect((await chat.history())[0]?.created_at).toBe('2027-03-04T05:06:07.000Z');
    expect(await create('0 * *')).toMatchObject({ created_at: '2027-03-04T05:06:07.000Z' });
  });

  test('moves by a duration or to a time, and continues from there', async () => {
    const { clock, machine, now } = await withClock();
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

  test('stops while frozen, can be moved then, and continues from where it stopped', async () => {
    const { clock, machine, now } = await withClock();
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

  test("returns to the machine's time on a reset", async () => {
    const { admin, clock, now, machine } = await withClock();
    await clock({ frozen: true, advance: '1d' });
    await admin('POST', '/reset', {});
    machine.advance(1);
    expect(await now()).toBe('2026-01-01T00:00:00.001Z');
  });
});

describe('scheduled tasks', () => {
  test('wait while the clock is frozen, and run at their own time when it is moved', async () => {
    const on = await withClock();
    await on.clock({ frozen: true });
    await on.chat.send('Hello');
    on.machine.advance(DAY);
    expect(await on.chat.history()).toHaveLength(1);
    await on.clock({ advance: '49ms' });
    expect(await on.chat.history()).toHaveLength(1);
    await on.clock({ advance: '1d' });
    expect(await timestampedTexts(on)).toEqual([
      '2026-01-01T00:00:00.000Z Hello',
      '2026-01-01T00:00:00.050Z You said: Hello',
    ]);
  });

  test('run again when the clock continues', async () => {
    const on = await withClock();
    await on.chat.send('Hello');
    on.machine.advance(20);
    await on.clock({ frozen: true });
    on.machine.advance(DAY);
    await on.clock({ frozen: false });
    on.machine.advance(29);
    expect(await on.chat.history()).toHaveLength(1);
    on.machine.advance(1);
    expect(await timestampedTexts(on)).toEqual([
      '2026-01-01T00:00:00.000Z Hello',
      '2026-01-01T00:00:00.050Z You said: Hello',
    ]);
  });

  test('keep their times after the clock was moved', async () => {
    const on = await withClock();
    const job = await on.create('0 * *');
    await on.clock({ advance: '59m' });
    on.machine.advance(60_000);
    expect(await on.runs(job)).toEqual(['2026-01-01T01:00:00.000Z']);
    on.machine.advance(3_600_000);
    expect(await on.runs(job)).toEqual(['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z']);
  });

  test('of all sessions and jobs run in the order of their times', async () => {
    const script = [{ pattern: 'slow', replies: [{ text: 'late', delay_ms: 5_400_000 }] }];
    const on = await startTestSandbox({ ...manualClock(START), script });
    const { create, clock, chat, history } = await createCronClient(on);
    const hourly = await create('0 * *', 'UTC', { instructions: 'hourly' });
    const often = await create('*/20 * *', 'UTC', { instructions: 'often, and slow' });
    await chat.send('slow');
    await clock({ advance: '2h' });
    const all = [...(await chat.history()), ...(await history(hourly)), ...(await history(often))];
    expect(all.map(({ created_at, text }) => `${created_at.slice(11)} ${text}`).toSorted()).toEqual([
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
});

describe('a move of the clock', () => {
  test('admits other requests, which see the clock on its way', async () => {
    const on = await withClock();
    await on.create('* * *');
    const moments: string[] = [];
    let arrived = false;
    const moving = on.clock({ frozen: true, advance: '1d' }).then(() => {
      arrived = true;
    });
    while (!arrived) moments.push(await on.now());
    await moving;
    const between = new Set(moments.filter((moment) => moment > '2026-01-01' && moment < '2026-01-02'));
    expect(between.size).toBeGreaterThan(5);
    expect(moments).toEqual(moments.toSorted());
  });

  test('waits for the moves before it, and is not delayed by a rejected one', async () => {
    const on = await withClock();
    const job = await on.create('0 * *');
    const refused = on.admin('PATCH', '/clock', { set: '2025-01-01T00:00:00Z' });
    await Promise.all(Array.from({ length: 24 }, () => on.clock({ advance: '1h' })));
    expect((await refused).status).toBe(422);
    expect(await on.now()).toBe('2026-01-02T00:00:00.000Z');
    expect(await on.runs(job)).toHaveLength(24);
    expect(new Set(await on.runs(job)).size).toBe(24);
  });

  test('ends on a reset', async () => {
    const on = await withClock();
    await on.create('* * *');
    const moving = on.clock({ frozen: true, advance: '52w' });
    await expect.poll(on.now).not.toMatch(/^2026-01-01/);
    await on.admin('POST', '/reset', {});
    expect((await moving).json).toEqual({ now: '2026-01-01T00:00:00.000Z', frozen: false });
    expect(await (await createChat(on)).history()).toEqual([]);
  });

  test('ends when the sandbox closes', async () => {
    const on = await withClock();
    await on.create('* * *');
    const moving = on.admin('PATCH', '/clock', { advance: '500w' }).catch(() => 'ended');
    await expect.poll(on.now).not.toMatch(/^2026-01-01/);
    await on.sandbox.close();
    expect(await moving).toBe('ended');
  });
});

describe("the sandbox's timer", () => {
  test('exists at most once, and not while the clock is frozen or the sandbox closed', async () => {
    const machine = manualClock(START);
    const running = new Set<() => void>();
    let started = 0;
    const setTimer: typeof machine.setTimer = (task, ms) => {
      started += 1;
      const end = () => running.delete(cancel);
      const cancel = machine.setTimer(() => {
        end();
        task();
      }, ms);
      running.add(cancel);
      return () => {
        end();
        cancel();
      };
    };
    const on = await startTestSandbox({ now: machine.now, setTimer });
    const { create, chat, clock, jobs } = await createCronClient(on);
    expect(running.size).toBe(0);
    await Promise.all(Array.from({ length: 200 }, (_, number) => chat.send(`${number}`)));
    machine.advance(50);
    expect([(await chat.history()).length, started]).toEqual([400, 1]);
    for (const fields of ['0 0 0', '0 * *', '*/5 * *']) await create(fields);
    for (let round = 0; round < 15; round += 1) {
      await chat.send(`${round}`);
      await clock({ advance: `${round}m` });
      expect(running.size).toBe(1);
      machine.advance(30);
      expect(running.size).toBe(1);
    }
    await clock({ frozen: true });
    expect(running.size).toBe(0);
    await clock({ frozen: false });
    expect(running.size).toBe(1);
    expect(await jobs()).toHaveLength(3);
    await on.sandbox.close();
    expect(running.size).toBe(0);
  });

  test('brings no reply early if it fires early, and the reply still comes', async () => {
    const timers: (() => void)[] = [];
    let now = 1_000;
    const setTimer = (task: () => void): (() => void) => {
      timers.push(task);
      return () => undefined;
    };
    const chat = await createChat(await startTestSandbox({ now: () => now, setTimer }));
    await chat.send('Hello');
    timers.shift()?.();
    expect(await chat.history()).toHaveLength(1);
    now += 50;
    timers.shift()?.();
    expect(await chat.history()).toHaveLength(2);
    expect(timers).toEqual([]);
  });

  test('does not keep the process alive', () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const kept = setTimeout(() => undefined, 60_000);
    expect(timers()).toBe(before + 1);
    clearTimeout(kept);
    const cancel = setProcessTimer(() => undefined, 60_000);
    expect(timers()).toBe(before);
    cancel();
  });
});
