import { describe, expect, it } from 'vitest';
import { adoptJob, forgetJob } from '../../../src/cron-old/adopt-forget.ts';
import { createOnce } from '../../../src/cron-old/create-once.ts';
import { replayRecovery } from '../../../src/cron-old/reconcile-all.ts';
import { keyOf } from './engine.ts';
import { ALL, calmWorld, create, DAILY, LATER, reconcile, shortRecords } from './examples.ts';
import { GRACE_MS } from './world.ts';

const NO_AGENTS = { ...ALL, agents: false };
const OF_ANOTHER = { ...DAILY, agent_id: 'agt_z', instructions: 'Something else.' };

describe('a job whose response was lost', () => {
  it('that appears in the list during the grace period is adopted', async () => {
    const world = calmWorld();
    await create(world, DAILY, { post: 'lost' });
    expect(world.listed()).toEqual([]);
    expect(await reconcile(world, { assume: true })).toMatchObject([{ status: 'adopted', cron_job_id: 'cron_1' }]);
  });

  it.each([LATER, { ...DAILY, instructions: 'Sing.' }])(
    'is not matched to a job with different content',
    async (other) => {
      const world = calmWorld();
      await create(world, DAILY, { post: 'vanished' });
      world.make(other);
      world.now += 60_000;
      expect(await reconcile(world, { assume: true })).toMatchObject([{ status: 'unknown', candidates: ['cron_1'] }]);
    },
  );

  it.each([
    { ...LATER, instructions: undefined },
    { ...DAILY, instructions: 'Sing.', schedule: undefined },
  ])('is not matched to a job whose only known part differs', async (listed) => {
    const world = calmWorld();
    await create(world, DAILY, { post: 'vanished' });
    world.now += 60_000;
    world.listed = () => [{ cron_job_id: 'cron_9', ...listed }];
    expect(await reconcile(world)).toMatchObject([{ status: 'unknown', candidates: ['cron_9'] }]);
  });

  it('is released without an assumption if another job of its key is recorded', async () => {
    const world = calmWorld();
    await create(world, DAILY, { post: 'vanished' });
    const reserved = world.file.text;
    world.file.text = '';
    await create(world, DAILY);
    world.file.text += reserved;
    world.now += 60_000;
    expect(await reconcile(world)).toMatchObject([{ status: 'released' }]);
    expect(await create(world, DAILY)).toMatchObject({ status: 'blocked', why: 'same', cron_job_id: 'cron_1' });
  });
});

describe('when the service does not return the agent of a job', () => {
  it('a job that was not listed before the reservation is adopted', async () => {
    const world = calmWorld(NO_AGENTS);
    await create(world, OF_ANOTHER, { post: 'lost' });
    world.now += 5_000;
    await create(world, DAILY, { post: 'lost' });
    world.now += 5_000;
    expect(await reconcile(world)).toMatchObject([
      { status: 'unknown', candidates: ['cron_1', 'cron_2'] },
      { status: 'adopted', cron_job_id: 'cron_2' },
    ]);
  });

  it('a job that was listed before the reservation is not adopted', async () => {
    const world = calmWorld(NO_AGENTS);
    await create(world, OF_ANOTHER, { post: 'lost' });
    world.now += 5_000;
    await create(world, DAILY, { post: 'vanished' });
    world.now += 60_000;
    expect(await reconcile(world)).toMatchObject([
      { status: 'adopted', cron_job_id: 'cron_1' },
      { status: 'unknown', candidates: [] },
    ]);
  });

  it('a job that the state file has, or had, for another agent is not adopted', async () => {
    const world = calmWorld(NO_AGENTS);
    await create(world, DAILY, { post: 'vanished' });
    await create(world, OF_ANOTHER);
    await forgetJob(
      world.process().engine.adoptDeps(async () => undefined),
      { key: keyOf(OF_ANOTHER) },
    );
    world.now += 60_000;
    expect(await reconcile(world)).toMatchObject([{ status: 'unknown', candidates: [] }]);
  });

  it('a job that another open reservation may have created is not guessed', async () => {
    const world = calmWorld(NO_AGENTS);
    await create(world, DAILY, { post: 'vanished' });
    await create(world, { ...DAILY, agent_id: 'agt_b' }, { post: 'lost' });
    world.now += 60_000;
    expect(await reconcile(world, { assume: true })).toMatchObject([
      { status: 'unknown', candidates: ['cron_1'] },
      { status: 'unknown', candidates: ['cron_1'] },
    ]);
  });

  it('a job whose content rules out the other open reservation is adopted', async () => {
    const world = calmWorld(NO_AGENTS);
    await create(world, DAILY, { post: 'lost' });
    await create(world, { ...LATER, agent_id: 'agt_b' }, { post: 'vanished' });
    world.now += 60_000;
    expect(await reconcile(world)).toMatchObject([{ status: 'adopted', cron_job_id: 'cron_1' }, { candidates: [] }]);
  });

  it('a job that an earlier reservation with other content may have created is not adopted for the later one', async () => {
    const world = calmWorld({ ...NO_AGENTS, contents: false });
    await create(world, DAILY, { post: 'lost', list: 'closed' });
    const first = world.file.text;
    world.file.text = '';
    await create(world, LATER, { post: 'vanished' });
    world.file.text = first + world.file.text;
    world.now += 60_000;
    expect(await reconcile(world)).toMatchObject([
      { status: 'unknown', candidates: ['cron_1'] },
      { status: 'unknown', candidates: ['cron_1'] },
    ]);
  });

  it('nothing is decided if it does not return the name either', async () => {
    const world = calmWorld({ ...NO_AGENTS, names: false });
    await create(world, DAILY, { post: 'lost' });
    world.now += 60_000;
    await expect(reconcile(world)).rejects.toMatchObject({ info: { details: { leaf: 'cron_job.name' } } });
  });
});

describe('a process that reserved a job', () => {
  it.each([0, 200_000, -3_600_000, 90_000_000])(
    'is waited for if it may still run on another machine, with a clock that is %i ms ahead',
    async (clockMs) => {
      const world = calmWorld();
      await create(world, DAILY, { diesAt: 6, machine: 1, remainingMs: 60_000 });
      const before = world.now;
      expect(await reconcile(world, { clockMs })).toMatchObject([{ status: 'in_progress' }]);
      expect(shortRecords(world)).toEqual(['reserved']);
      expect(await reconcile(world, { clockMs, assume: true })).toMatchObject([{ status: 'released' }]);
      // As long as it may post, plus the grace period.
      expect(world.now - before).toBeGreaterThan(80_000);
    },
  );

  it('on another machine has its job adopted immediately', async () => {
    const world = calmWorld();
    await create(world, DAILY, { diesAt: 10, machine: 1 });
    world.now += 5_000;
    expect(await reconcile(world)).toMatchObject([{ status: 'adopted', cron_job_id: 'cron_1' }]);
  });

  it.each([0, 200_000, 90_000_000])(
    'is not interfered with while it runs, with a clock that is %i ms ahead',
    async (clockMs) => {
      const world = calmWorld();
      const living = world.process();
      const deps = living.engine.createDeps();
      const post = async (...args: Parameters<typeof deps.post>) => {
        expect(await reconcile(world, { clockMs, assume: true })).toMatchObject([{ status: 'in_progress' }]);
        expect(await create(world, DAILY, { clockMs })).toMatchObject({ status: 'blocked', why: 'in_progress' });
        const adoptDeps = world.process({ clockMs }).engine.adoptDeps(async () => undefined);
        await expect(forgetJob(adoptDeps, { key: keyOf(DAILY) })).rejects.toThrow(
          'Another process is creating this job',
        );
        return await deps.post(...args);
      };
      const outcome = await living.run(() => createOnce(DAILY, { ...deps, post }, { ensure: false, dryRun: false }));
      expect(outcome).toMatchObject({ status: 'created' });
      expect(world.posts).toBe(1);
    },
  );

  it('is only waited for during the grace period if it was killed long ago', async () => {
    const world = calmWorld();
    await create(world, DAILY, { diesAt: 6, remainingMs: 60_000 });
    world.now += 3_600_000;
    const before = world.now;
    expect(await reconcile(world, { assume: true })).toMatchObject([{ status: 'released' }]);
    expect(world.now - before).toBeLessThan(GRACE_MS + 1_000);
  });

  it.each([-3_600_000, 200_000])('gets the full grace period even if its clock was %i ms ahead', async (clockMs) => {
    const world = calmWorld();
    await create(world, DAILY, { post: 'lost', clockMs });
    const before = world.now;
    expect(await reconcile(world, { assume: true })).toMatchObject([{ status: 'adopted', cron_job_id: 'cron_1' }]);
    expect(world.now - before).toBeGreaterThan(GRACE_MS);
  });

  it('on another machine is waited for before its job is forgotten', async () => {
    const world = calmWorld();
    await create(world, DAILY, { diesAt: 6, machine: 1, remainingMs: 60_000 });
    const before = world.now;
    const adoptDeps = world.process({ clockMs: 90_000_000 }).engine.adoptDeps(async () => undefined);
    await forgetJob(adoptDeps, { key: keyOf(DAILY) });
    expect(world.now - before).toBeGreaterThan(60_000);
  });
});

describe('a recovery record', () => {
  it('is appended to the state file, and removed after that', async () => {
    const world = calmWorld();
    await create(world, DAILY, { appends: ['ok', 'out'] });
    const removed: unknown[] = [];
    const files = world.recovery.map((record) => ({ record }));
    const replayed = await replayRecovery(files, world.process().engine.ledger, async (each) => {
      expect(shortRecords(world)).toEqual(['reserved', 'created']);
      removed.push(each);
    });
    expect(replayed).toEqual(world.recovery);
    expect(removed).toEqual(files);
    expect(await reconcile(world)).toEqual([]);
  });

  it('is appended if only another service has returned the same id', async () => {
    const world = calmWorld();
    await create(world, DAILY, { appends: ['ok', 'out'] });
    const [record] = world.recovery;
    if (record?.kind !== 'created') throw new Error('Nothing was recovered.');
    const { ledger } = world.process().engine;
    const snapshot = { ...record.snapshot, origin: 'https://elsewhere.example/v1' };
    const elsewhere = { ...record, id: 'elsewhere', key: 'elsewhere', snapshot };
    await ledger.append({ ...elsewhere, reservation: null });
    expect(await replayRecovery([{ record }], ledger, async () => undefined)).toEqual([record]);
  });

  it('is only removed if its id was recorded since, so that a forgotten job stays forgotten', async () => {
    const world = calmWorld();
    await create(world, DAILY, { appends: ['ok', 'out'] });
    world.now += 5_000;
    await reconcile(world);
    const before = world.file.text;
    const files = world.recovery.map((record) => ({ record }));
    expect(await replayRecovery(files, world.process().engine.ledger, async () => undefined)).toEqual([]);
    expect(world.file.text).toBe(before);
  });
});

describe('cron adopt of a recorded job', () => {
  it('keeps its recorded content if the service does not return it', async () => {
    const world = calmWorld({ ...ALL, contents: false });
    await create(world, DAILY);
    world.now += 5_000;
    await adoptJob(
      world.process().engine.adoptDeps(async () => undefined),
      'cron_1',
      DAILY,
    );
    expect(await create(world, LATER, { ensure: true })).toMatchObject({ status: 'blocked', why: 'different' });
  });
});
