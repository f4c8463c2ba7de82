import { describe, expect, it } from 'vitest';
import { adoptJob } from '../../../src/cron-old/adopt-forget.ts';
import { createOnce } from '../../../src/cron-old/create-once.ts';
import type { CronDeps } from '../../../src/cron-old/create-outcome.ts';
import { LocalError } from '../../../src/errors.ts';
import { keyOf } from './engine.ts';
import { ALL, calmWorld, create, DAILY, LATER, shortRecords } from './examples.ts';

const key = keyOf(DAILY);
const PLAIN = { ensure: false, dryRun: false };

describe('a new job', () => {
  it('is not created when reading the list fails temporarily, and nothing is written', async () => {
    const world = calmWorld();
    await expect(create(world, DAILY, { list: 'failing' })).rejects.toMatchObject({ exitCode: 8 });
    expect(world).toMatchObject({ file: { text: '' }, posts: 0 });
  });
});

describe('a job in the state file', () => {
  it('is blocked with a different schedule even if its instructions are unknown', async () => {
    const world = calmWorld();
    world.listed = () => [{ cron_job_id: 'cron_7', ...DAILY, instructions: undefined }];
    expect(await create(world, DAILY)).toMatchObject({ status: 'adopted', cron_job_id: 'cron_7' });
    expect(await create(world, LATER, { ensure: true })).toMatchObject({ status: 'blocked', why: 'different' });
  });

  it('is gone once the service no longer lists it, but not when the list is older than the job', async () => {
    const world = calmWorld();
    const early = world.process();
    const nothing = { kind: 'read' as const, same: [], maybe: [], isListed: () => false, byId: () => undefined };
    const parts = { ...early.engine.createDeps(), find: async () => ({ ...nothing, at: world.now }) };
    const before = await parts.find();
    await create(world, DAILY);
    world.now += 61_000;
    const ensure = { ensure: true, dryRun: false };
    expect(await createOnce(DAILY, { ...parts, find: async () => before }, ensure)).toMatchObject({ status: 'exists' });
    expect(await createOnce(DAILY, parts, ensure)).toMatchObject({ status: 'blocked', why: 'gone' });
    expect(await create(world, DAILY, { ensure: true, list: 'closed' })).toMatchObject({ status: 'exists' });
  });
});

describe('a job that was created just now', () => {
  it('is not gone if a wrong clock makes its record look old, and the list does not have it yet', async () => {
    const world = calmWorld();
    await create(world, DAILY, { clockMs: -3_600_000 });
    expect(world.listed()).toEqual([]);
    const before = world.now;
    expect(await create(world, DAILY, { ensure: true })).toMatchObject({ status: 'exists', cron_job_id: 'cron_1' });
    expect(world.now - before).toBeGreaterThan(4_000);
  });
});

describe('a job that only the service has', () => {
  it('is recorded, and blocked when its content differs', async () => {
    const world = calmWorld();
    world.make(LATER);
    world.now += 5_000;
    expect(await create(world, DAILY, { ensure: true })).toMatchObject({ status: 'blocked', why: 'different' });
    expect(shortRecords(world)).toEqual(['adopted']);
  });

  it('blocks without its agent, whatever its content, unless the state file knows its agent', async () => {
    const world = calmWorld({ ...ALL, agents: false });
    const other = { ...DAILY, agent_id: 'agt_z', instructions: 'Something else.' };
    world.make(other);
    world.now += 5_000;
    expect(await create(world, DAILY)).toMatchObject({ status: 'blocked', why: 'ambiguous', candidates: ['cron_1'] });
    await adoptJob(
      world.process().engine.adoptDeps(async () => undefined),
      'cron_1',
      other,
    );
    expect(await create(world, DAILY)).toMatchObject({ status: 'created', cron_job_id: 'cron_2' });
    expect(world.records()[1]).toMatchObject({ kind: 'reserved', remoteIdsSeen: ['cron_1'] });
    world.now += 5_000;
    expect(await create(world, { ...DAILY, agent_id: 'agt_y' })).toMatchObject({ status: 'created' });
  });
});

describe('a POST', () => {
  it.each(['lost', 'vanished', 'broken'] as const)('whose response was %s blocks only its key', async (post) => {
    const world = calmWorld();
    expect(await create(world, DAILY, { post })).toMatchObject({ status: 'unknown', key });
    const posts = world.posts;
    expect(await create(world, DAILY, { ensure: true })).toMatchObject({ status: 'unknown', key });
    expect(world.posts).toBe(posts);
    expect(await create(world, { ...DAILY, name: 'weekly' })).toMatchObject({ status: 'created' });
  });

  it.each([
    { remainingMs: 0, outcome: 'failed', records: [] },
    { remainingMs: 20_000, outcome: 'created', records: ['reserved', 'created'] },
  ])('is not sent after the deadline of its reservation, with $remainingMs ms left', async (expected) => {
    const world = calmWorld();
    const started = world.now;
    const deps = {
      ...world.process().engine.createDeps(),
      remainingMs: () => (world.now === started ? 20_000 : expected.remainingMs),
    };
    const { read } = deps.ledger;
    let reads = 0;
    const slow = async (name: string) => {
      reads += 1;
      if (reads === 2) world.now += 21_000;
      return await read(name);
    };
    const outcome = await createOnce(DAILY, { ...deps, ledger: { ...deps.ledger, read: slow } }, PLAIN);
    const error = { message: expect.stringContaining('time for the command') };
    const isFailed = expected.outcome === 'failed';
    expect(outcome).toMatchObject({ status: expected.outcome, ...(isFailed && { error, isReleased: true }) });
    expect(shortRecords(world)).toEqual(['reserved', 'released not_sent', ...expected.records]);
    expect(world.posts).toBe(isFailed ? 0 : 1);
  });

  it('is never reserved for much longer than two minutes, whatever the --timeout', async () => {
    const world = calmWorld();
    await create(world, DAILY, { remainingMs: 10 * 3_600_000 });
    const [reserved] = world.records();
    const isReservation = reserved?.kind === 'reserved';
    const lasts = isReservation ? Date.parse(reserved.deadline ?? '') - Date.parse(reserved.at) : undefined;
    expect(lasts).toBeLessThan(131_000);
  });
});

describe('a state file that cannot be written', () => {
  it.each(['out', 'in', 0.5, 0.999] as const)(
    'prevents the POST and leaves the key free (append: %s)',
    async (fate) => {
      const world = calmWorld();
      await expect(create(world, DAILY, { appends: [fate] })).rejects.toBeInstanceOf(LocalError);
      expect(world.posts).toBe(0);
      // The end of the reservation is on disk, so a part of its beginning there does no harm.
      expect(await create(world, DAILY)).toMatchObject({ status: 'created' });
    },
  );

  it('after the POST still reports the id when no recovery record can be written either', async () => {
    const world = calmWorld();
    expect(await create(world, DAILY, { appends: ['ok', 'out'], isRecovered: false })).toMatchObject({
      cron_job_id: 'cron_1',
      unrecorded: { recoveryPath: undefined },
    });
  });

  it('reports that the key stays blocked when it cannot be released', async () => {
    const world = calmWorld();
    const outcome = await create(world, DAILY, { post: 'refused', appends: ['ok', 'out'] });
    expect(outcome).toMatchObject({ status: 'failed', isReleased: false });
    expect(await create(world, DAILY)).toMatchObject({ status: 'unknown' });
  });

  it('prevents the POST when the reservation cannot be read back', async () => {
    const world = calmWorld();
    const guard = world.process().engine.createDeps();
    const ledger = { ...guard.ledger, append: async () => undefined };
    await expect(createOnce(DAILY, { ...guard, ledger }, { ensure: true, dryRun: false })).rejects.toThrow('read back');
    expect(world.posts).toBe(0);
  });
});

describe('another process', () => {
  it('that is creating the job blocks without --ensure and is waited for with it', async () => {
    const world = calmWorld();
    const first = world.process();
    let others: unknown[] = [];
    const post = async (...args: Parameters<CronDeps['post']>) => {
      others = [await create(world, DAILY), create(world, DAILY, { ensure: true })];
      return await first.engine.createDeps().post(...args);
    };
    await first.run(() => createOnce(DAILY, { ...first.engine.createDeps(), post }, PLAIN));
    expect(others[0]).toMatchObject({ status: 'blocked', why: 'in_progress', cron_job_id: null });
    expect(await others[1]).toMatchObject({ status: 'exists', cron_job_id: 'cron_1' });
    expect(world.posts).toBe(1);
  });

  it.each([
    [true, { status: 'exists', cron_job_id: 'cron_9' }],
    [false, { status: 'blocked', why: 'same', cron_job_id: 'cron_9' }],
  ])('that recorded its job and ended after the log was read counts as done (ensure: %s)', async (ensure, outcome) => {
    const world = calmWorld();
    await create(world, DAILY, { diesAt: 6 });
    const [reserved] = world.records();
    if (reserved?.kind !== 'reserved') throw new Error('Nothing was reserved.');
    const { ledger } = world.process().engine;
    const hasEnded = async () => {
      const { id: reservation, key: of, at, snapshot } = reserved;
      await ledger.append({ kind: 'created', id: 'late', at, key: of, snapshot, reservation, remoteId: 'cron_9' });
      return true;
    };
    const deps = { ...world.process().engine.createDeps(), hasEnded };
    expect(await createOnce(DAILY, deps, { ensure, dryRun: false })).toMatchObject(outcome);
    expect(world.posts).toBe(0);
  });

  it('on another machine counts as alive until its deadline', async () => {
    const world = calmWorld();
    await create(world, DAILY, { diesAt: 6, machine: 1, remainingMs: 20_000 });
    expect(await create(world, DAILY)).toMatchObject({ status: 'blocked', why: 'in_progress' });
    world.now += 30_001;
    expect(await create(world, DAILY)).toMatchObject({ status: 'unknown' });
  });

  it('whose clock was far ahead does not block the key for that long', async () => {
    const world = calmWorld();
    const { now } = world;
    world.now += 365 * 24 * 3_600_000;
    await create(world, DAILY, { diesAt: 6, machine: 1 });
    world.now = now;
    expect(await create(world, DAILY, { ensure: true })).toMatchObject({ status: 'unknown' });
  });

  it('that was not first and cannot release its reservation fails instead of waiting for itself', async () => {
    const world = calmWorld();
    const late = world.process({ appends: ['ok', 'out'] });
    const deps = late.engine.createDeps();
    const append: CronDeps['ledger']['append'] = async (record) => {
      if (record.kind === 'reserved') await create(world, DAILY, { diesAt: 6 });
      await deps.ledger.append(record);
    };
    const options = { ensure: true, dryRun: false };
    const outcome = late.run(() => createOnce(DAILY, { ...deps, ledger: { ...deps.ledger, append } }, options));
    await expect(outcome).rejects.toBeInstanceOf(LocalError);
    expect(world.posts).toBe(0);
  });
});
