import { describe, expect, it } from 'vitest';
import { adoptJob, forgetJob } from '../../../src/cron/adopt-forget.ts';
import { replayRecovery } from '../../../src/cron/reconcile-all.ts';
import { ALL, calmWorld, create, DAILY, LATER, reconcile, story } from './examples.ts';
import { keyOf } from './world.ts';

const NO_AGENTS = { ...ALL, agents: false };
const OF_ANOTHER = { ...DAILY, agent_id: 'agt_z', instructions: 'Something else.' };

describe('a job whose answer was lost', () => {
  it('is adopted from the list', async () => {
    const world = calmWorld();
    world.make({ ...DAILY, name: 'weekly' });
    world.make(OF_ANOTHER);
    await create(world, DAILY, { post: 'lost' });
    world.now += 5_000;
    expect(await reconcile(world)).toMatchObject([{ status: 'adopted', cron_job_id: 'cron_3' }]);
    expect(await create(world, DAILY, { ensure: true })).toMatchObject({ status: 'exists', cron_job_id: 'cron_3' });
    expect(await reconcile(world)).toEqual([]);
  });

  it('that is not listed stays open, and is released on the word that it was not created, after the grace', async () => {
    const world = calmWorld();
    await create(world, DAILY, { post: 'vanished' });
    expect(await reconcile(world)).toMatchObject([
      { status: 'unknown', candidates: [], settlesAt: expect.any(String) },
    ]);
    const before = world.now;
    expect(await reconcile(world, { assume: true })).toMatchObject([{ status: 'released' }]);
    expect(world.now - before).toBeGreaterThan(9_000);
    expect(await create(world, DAILY)).toMatchObject({ status: 'created' });
  });

  it('that comes into the list during the grace is adopted', async () => {
    const world = calmWorld();
    await create(world, DAILY, { post: 'lost' });
    expect(world.listed()).toEqual([]);
    expect(await reconcile(world, { assume: true })).toMatchObject([{ status: 'adopted', cron_job_id: 'cron_1' }]);
  });

  it('is not guessed where there are several, nor assumed away', async () => {
    const world = calmWorld();
    await create(world, DAILY, { post: 'lost' });
    world.make(DAILY);
    world.now += 60_000;
    const candidates = ['cron_1', 'cron_2'];
    expect(await reconcile(world, { assume: true })).toMatchObject([{ status: 'unknown', candidates }]);
  });

  it.each([LATER, { ...DAILY, instructions: 'Sing.' }])('is not taken for a job with other content', async (other) => {
    const world = calmWorld();
    await create(world, DAILY, { post: 'vanished' });
    world.make(other);
    world.now += 60_000;
    expect(await reconcile(world, { assume: true })).toMatchObject([{ status: 'unknown', candidates: ['cron_1'] }]);
  });

  it.each([
    { ...LATER, instructions: undefined },
    { ...DAILY, instructions: 'Sing.', schedule: undefined },
  ])('is not taken for one of which only a part is known that differs', async (listed) => {
    const world = calmWorld();
    await create(world, DAILY, { post: 'vanished' });
    world.now += 60_000;
    world.listed = () => [{ cron_job_id: 'cron_9', ...listed }];
    expect(await reconcile(world)).toMatchObject([{ status: 'unknown', candidates: ['cron_9'] }]);
  });

  it('of which another job is known needs no word, once nothing else is listed', async () => {
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

describe('where the service does not say whose a job is', () => {
  it('one that was not there before is the one', async () => {
    const world = calmWorld(NO_AGENTS);
    world.make(OF_ANOTHER);
    world.now += 5_000;
    await create(world, DAILY, { post: 'lost' });
    world.now += 5_000;
    expect(await reconcile(world)).toMatchObject([{ status: 'adopted', cron_job_id: 'cron_2' }]);
  });

  it('one that was there before is not', async () => {
    const world = calmWorld(NO_AGENTS);
    world.make(OF_ANOTHER);
    world.now += 5_000;
    await create(world, DAILY, { post: 'vanished' });
    world.now += 60_000;
    expect(await reconcile(world)).toMatchObject([{ status: 'unknown', candidates: [] }]);
  });

  it('one that the file knows, or knew, of another agent is not', async () => {
    const world = calmWorld(NO_AGENTS);
    await create(world, DAILY, { post: 'vanished' });
    await create(world, OF_ANOTHER);
    await forgetJob(
      world.process().byHand(() => true),
      keyOf(OF_ANOTHER),
    );
    world.now += 60_000;
    expect(await reconcile(world)).toMatchObject([{ status: 'unknown', candidates: [] }]);
  });

  it('one that another open request may have made is not guessed', async () => {
    const world = calmWorld(NO_AGENTS);
    await create(world, DAILY, { post: 'vanished' });
    await create(world, { ...DAILY, agent_id: 'agt_b' }, { post: 'lost' });
    world.now += 60_000;
    expect(await reconcile(world, { assume: true })).toMatchObject([
      { status: 'unknown', candidates: ['cron_1'] },
      { status: 'unknown', candidates: ['cron_1'] },
    ]);
  });

  it('one that another open request cannot have made, by its content, is the one', async () => {
    const world = calmWorld(NO_AGENTS);
    await create(world, DAILY, { post: 'lost' });
    await create(world, { ...LATER, agent_id: 'agt_b' }, { post: 'vanished' });
    world.now += 60_000;
    expect(await reconcile(world)).toMatchObject([{ status: 'adopted', cron_job_id: 'cron_1' }, { candidates: [] }]);
  });

  it('one that an earlier request with other content may have made is not taken for the later one', async () => {
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

  it('and not its name either, nothing is adopted', async () => {
    const world = calmWorld({ ...NO_AGENTS, names: false });
    await create(world, DAILY, { post: 'lost' });
    world.now += 60_000;
    expect(await reconcile(world)).toMatchObject([{ status: 'unknown', candidates: ['cron_1'] }]);
  });
});

describe('a process that reserved a job', () => {
  it('and is at work is left alone, also where that cannot be seen from here', async () => {
    const world = calmWorld();
    await create(world, DAILY, { diesAt: 6, machine: 1 });
    expect(await reconcile(world, { assume: true })).toMatchObject([{ status: 'in_progress' }]);
    expect(story(world)).toEqual(['reserved']);
  });

  it('and was killed may have sent it until then, so the grace begins when that is seen', async () => {
    const world = calmWorld();
    await create(world, DAILY, { diesAt: 6, remainingMs: 60_000 });
    world.now += 20_000;
    const before = world.now;
    expect(await reconcile(world, { assume: true })).toMatchObject([{ status: 'released' }]);
    expect(world.now - before).toBeGreaterThan(9_000);
  });

  it('and was killed long ago is waited for no more', async () => {
    const world = calmWorld();
    await create(world, DAILY, { diesAt: 6, remainingMs: 60_000 });
    world.now += 3_600_000;
    const before = world.now;
    expect(await reconcile(world, { assume: true })).toMatchObject([{ status: 'released' }]);
    expect(world.now - before).toBeLessThan(1_000);
  });
});

describe('a record that was left beside the file', () => {
  it('is taken up, and removed after that', async () => {
    const world = calmWorld();
    await create(world, DAILY, { appends: ['ok', 'out'] });
    const removed: unknown[] = [];
    const left = world.recovery.map((record) => ({ record }));
    const taken = await replayRecovery(left, world.process().ledger, async (each) => {
      expect(story(world)).toEqual(['reserved', 'created']);
      removed.push(each);
    });
    expect(taken).toEqual(world.recovery);
    expect(removed).toEqual(left);
    expect(await reconcile(world)).toEqual([]);
  });

  it('is taken up where only another service gave out the same id', async () => {
    const world = calmWorld();
    await create(world, DAILY, { appends: ['ok', 'out'] });
    const [record] = world.recovery;
    if (record?.kind !== 'created') throw new Error('nothing was left');
    const { ledger } = world.process();
    const snapshot = { ...record.snapshot, origin: 'https://elsewhere.example/v1' };
    const elsewhere = { ...record, id: 'elsewhere', key: 'elsewhere', snapshot };
    await ledger.append({ ...elsewhere, reservation: null });
    expect(await replayRecovery([{ record }], ledger, async () => undefined)).toEqual([record]);
  });

  it('is only removed where its id was recorded since, so that what was forgotten stays forgotten', async () => {
    const world = calmWorld();
    await create(world, DAILY, { appends: ['ok', 'out'] });
    world.now += 5_000;
    await reconcile(world);
    const before = world.file.text;
    const left = world.recovery.map((record) => ({ record }));
    expect(await replayRecovery(left, world.process().ledger, async () => undefined)).toEqual([]);
    expect(world.file.text).toBe(before);
  });
});

describe('adopting a recorded job again by hand', () => {
  it('keeps its recorded content where the service does not say it', async () => {
    const world = calmWorld({ ...ALL, contents: false });
    await create(world, DAILY);
    world.now += 5_000;
    await adoptJob(
      world.process().byHand(() => true),
      'cron_1',
      DAILY,
    );
    expect(await create(world, LATER, { ensure: true })).toMatchObject({ status: 'blocked', why: 'different' });
  });
});
