import { appendFile, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { readLines, writeLine } from '../../src/sandbox/store/lines.ts';
import { type HistoryEntry, manualClock } from './chat.ts';
import { childSandboxes, temporaryDirectory } from './child-process.ts';
import { connectTo, connectToChild, startTestSandbox } from './client.ts';
import { type CronClient, createCronClient, type Job } from './cron.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const startChild = childSandboxes();

/** Uses a data directory for a while, from a moment of the machine's clock on, and closes it properly. */
async function spell<Result>(
  dataDir: string,
  start: number,
  use: (plan: CronClient, machine: ReturnType<typeof manualClock>) => Promise<Result>,
): Promise<Result> {
  const machine = manualClock(start);
  const sandbox = await startSandbox({ dataDir, ...machine });
  try {
    return await use(await createCronClient(connectTo(sandbox, await sandbox.createToken())), machine);
  } finally {
    await sandbox.close();
  }
}

/** Fills the journal with what no longer counts, so that the next start writes it anew. */
async function litter(dataDir: string): Promise<void> {
  const filler = JSON.stringify({ kind: 'template', template: { template_id: 'tmpl_support', name: 'S' } });
  await appendFile(join(dataDir, 'journal.jsonl'), writeLine(Array.from({ length: 3_000 }, () => filler)));
}

const START = Date.UTC(2026, 0, 1);

describe('a restart', () => {
  test.each([
    ['keeps jobs, their last runs and their sessions', () => Promise.resolve()],
    ['keeps them in a journal written anew', litter],
  ])('%s', async (_, between) => {
    const dataDir = await temporaryDirectory();
    const before = await spell(dataDir, START, async ({ create: make, jobs, history: said, chat }, machine) => {
      const [kept] = [await make('0 */6 *', 'Europe/Berlin'), await make('* * 1')];
      machine.advance(12 * HOUR + MINUTE);
      return { source_id: chat.source_id, jobs: await jobs(), said: await said(kept) };
    });
    expect(before.said).toHaveLength(4);
    await between(dataDir);
    const { size } = await stat(join(dataDir, 'journal.jsonl'));
    await spell(dataDir, START + 12 * HOUR + MINUTE, async ({ jobs, history: said, chat }) => {
      expect(chat.source_id).toBe(before.source_id);
      const now = await jobs();
      expect(now).toEqual(before.jobs);
      expect(now[0] && (await said(now[0]))).toEqual(before.said);
    });
    if (between === litter) expect((await stat(join(dataDir, 'journal.jsonl'))).size).toBeLessThan(size / 10);
  });

  test('an ended job stays ended', async () => {
    const dataDir = await temporaryDirectory();
    const machine = manualClock(START);
    const sandbox = await startSandbox({ dataDir, ...machine });
    const on = connectTo(sandbox, await sandbox.createToken());
    const { cron_job_id } = await (await createCronClient(on)).create('* * *');
    machine.advance(MINUTE);
    await on.admin('DELETE', `/cron-jobs/${cron_job_id}`);
    await sandbox.close();
    await spell(dataDir, START + HOUR, async ({ jobs, history: said }, later) => {
      later.advance(HOUR);
      expect(await jobs()).toEqual([]);
      expect(await said({ cron_job_id, next_run_at: null, last_run_at: null })).toHaveLength(2);
    });
  });

  test.each([
    ['hours', '0 * *', 5 * HOUR + 30 * MINUTE, ['06:00']],
    ['more than a minute', '0 1 *', HOUR + MINUTE, []],
    ['less than a minute', '0 1 *', HOUR + MINUTE - 1, ['01:00']],
    ['ten minutes, for a job of each minute', '* * *', 10 * MINUTE + 30_000, ['00:10', '00:11']],
  ])('makes up no moment that was missed by %s', async (_, fields, away, moments) => {
    const dataDir = await temporaryDirectory();
    const job = await spell(dataDir, START, ({ create: make }) => make(fields));
    await spell(dataDir, START + away, async ({ history: said, jobs }, machine) => {
      machine.advance(0);
      machine.advance(MINUTE / 2);
      if (fields === '0 * *') machine.advance(MINUTE * 30);
      const runs = (await said(job)).filter(({ role }) => role === 'user');
      expect(runs.map(({ external_message_id }) => external_message_id?.slice(16, 21))).toEqual(moments);
      expect(Date.parse((await jobs())[0]?.next_run_at ?? '')).toBeGreaterThan(machine.now());
    });
  });

  test('runs no moment again that was run for, however often it happens', async () => {
    const dataDir = await temporaryDirectory();
    const job = await spell(dataDir, START, async ({ create: make }, machine) => {
      const made = await make('* * *');
      machine.advance(5 * MINUTE);
      return made;
    });
    for (let restart = 0; restart < 3; restart += 1) {
      await spell(dataDir, START + 5 * MINUTE, (_, machine) => {
        machine.advance(0);
        return Promise.resolve();
      });
    }
    const runs = await spell(dataDir, START + 5 * MINUTE, ({ runs }) => runs(job));
    expect(runs).toHaveLength(5);
  });

  test('finds the clock ahead where it was ahead, and frozen where it was frozen', async () => {
    const dataDir = await temporaryDirectory();
    const job = await spell(dataDir, START, async ({ create: make, clock }) => {
      const made = await make('0 0 *');
      await clock({ advance: '7d' });
      return made;
    });
    await spell(dataDir, START + HOUR, async ({ clock, runs }) => {
      expect((await clock({})).json).toEqual({ now: '2026-01-08T01:00:00.000Z', frozen: false });
      expect((await clock({ frozen: true, advance: '1h' })).json.frozen).toBe(true);
      expect(await runs(job)).toHaveLength(7);
    });
    await spell(dataDir, START + 1_000 * HOUR, async ({ clock, runs }, machine) => {
      machine.advance(48 * HOUR);
      expect((await clock({})).json).toEqual({ now: '2026-01-08T02:00:00.000Z', frozen: true });
      expect(await runs(job)).toHaveLength(7);
      await clock({ advance: '22h' });
      expect((await runs(job)).at(-1)).toBe('2026-01-09T00:00:00.000Z');
    });
  });
});

describe('a move', () => {
  test('is written to disk along the way, not held in memory to its end', async () => {
    const dataDir = await temporaryDirectory();
    const on = await startTestSandbox({ dataDir, ...manualClock(START), script: [{ pattern: '.', fail: 'silent' }] });
    const { create: make, clock } = await createCronClient(on);
    await make('* * *', 'UTC', { instructions: 'x'.repeat(20_000) });
    await clock({ advance: '1d' });
    // A line is what was written at once.
    const lines = (await readFile(join(dataDir, 'journal.jsonl'), 'utf8')).split('\n').filter((line) => line !== '');
    expect(lines.length).toBeGreaterThan(10);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(4_000_000);
  });
});

describe('a machine that slept', () => {
  test('runs once for the last minute, not for what it slept through', async () => {
    let now = START;
    const timers: (() => void)[] = [];
    const schedule = (task: () => void): (() => void) => {
      timers.push(task);
      return () => undefined;
    };
    const on = await startTestSandbox({ now: () => now, schedule });
    const { create: make, runs } = await createCronClient(on);
    const [often, hourly] = [await make('* * *'), await make('0 * *')];
    now += 3 * HOUR + 30 * MINUTE + 10_000;
    for (const wake of timers.splice(0)) wake();
    for (const wake of timers.splice(0)) wake();
    expect(await runs(often)).toEqual(['2026-01-01T03:30:10.000Z']);
    expect(await runs(hourly)).toEqual([]);
  });
});

describe('kill -9', () => {
  /** The runs of a job by the moment that each was for, and their replies. */
  function expectOnceEach(entries: readonly HistoryEntry[]): string[] {
    const prompts = entries.filter(({ role }) => role === 'user');
    const moments = prompts.map(({ external_message_id }) => external_message_id ?? '');
    expect(new Set(moments).size).toBe(moments.length);
    expect(moments).toEqual(moments.toSorted());
    const answered = entries.filter(({ role }) => role === 'assistant').map(({ in_reply_to }) => in_reply_to);
    expect(new Set(answered).size).toBe(answered.length);
    return moments;
  }

  test('in the middle of a move: no run is lost on the way or comes twice', async () => {
    const dataDir = await temporaryDirectory();
    let job: Job | undefined;
    const kept: string[] = [];
    for (const pause of [0, 1, 3, 6]) {
      const child = await startChild(dataDir);
      const on = connectToChild(child);
      const { create: make, clock, jobs } = await createCronClient(on);
      if (!job) {
        await clock({ frozen: true });
        job = await make('* * *', 'Europe/Berlin', { instructions: `Report. ${'x'.repeat(2_000)}` });
      }
      const before = (await jobs())[0]?.last_run_at;
      const moving = on.admin('PATCH', '/clock', { advance: '30d' }).then(
        () => 'arrived',
        () => 'killed',
      );
      for (let count = 0; count < pause || (await jobs())[0]?.last_run_at === before; count += 1) await jobs();
      kept.push((await jobs())[0]?.last_run_at ?? '');
      await child.kill();
      expect(await moving).toBe('killed');
    }
    const on = await startTestSandbox({ dataDir });
    const { clock, history: said } = await createCronClient(on);
    const { now, frozen } = (await clock({ advance: '50ms' })).json;
    expect(frozen).toBe(true);
    if (!job) throw new Error('There is no job.');
    const entries = await said(job);
    expect(Date.parse(entries.at(-1)?.created_at ?? '')).toBeLessThanOrEqual(Date.parse(now));
    const moments = expectOnceEach(entries);
    const minutes = moments.map((moment) => Date.parse(moment.replace('cron:', '')) / MINUTE);
    const first = minutes[0] ?? 0;
    expect(minutes).toEqual(minutes.map((_, index) => first + index));
    // What an answer told of had been written before.
    for (const moment of kept) expect(moments).toContain(`cron:${moment}`);
    expect(entries.filter(({ role }) => role === 'assistant')).toHaveLength(moments.length);
    expect(readLines(await readFile(join(dataDir, 'journal.jsonl'))).changes.length).toBeGreaterThan(moments.length);
  });

  test('right after a job was acknowledged: it is there', async () => {
    const dataDir = await temporaryDirectory();
    const made: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const child = await startChild(dataDir);
      const { post } = await createCronClient(connectToChild(child));
      const answers = Array.from({ length: 20 }, () =>
        post().then(
          ({ json }) => json.cron_job_id,
          () => undefined,
        ),
      );
      made.push(await Promise.race(answers));
      await child.kill();
      made.push(...(await Promise.all(answers)).filter((id) => id !== undefined));
    }
    const listed = (await (await createCronClient(await startTestSandbox({ dataDir }))).jobs()).map(
      ({ cron_job_id }) => cron_job_id,
    );
    expect(listed).toEqual(expect.arrayContaining(made));
    expect(new Set(listed).size).toBe(listed.length);
  });

  test('around the moment itself, by the machine’s own timers: the run is there once', async () => {
    const dataDir = await temporaryDirectory();
    const child = await startChild(dataDir);
    const { create: make, clock, runs } = await createCronClient(connectToChild(child));
    const job = await make('0 12 *');
    const day = new Date(Date.now() + 24 * HOUR).toISOString().slice(0, 10);
    // Frozen, so that the moment cannot come before it is known how many runs there were.
    await clock({ frozen: true, set: `${day}T11:59:59.700Z` });
    const earlier = (await runs(job)).length;
    await clock({ frozen: false });
    await expect.poll(() => runs(job), { interval: 5 }).toHaveLength(earlier + 1);
    await child.kill();
    const again = await createCronClient(await startTestSandbox({ dataDir }));
    await again.clock({ advance: '1s' });
    expect(expectOnceEach(await again.history(job))).toHaveLength(earlier + 1);
    expect((await again.jobs())[0]?.last_run_at).toBe(`${day}T12:00:00.000Z`);
  });
});
