import fc from 'fast-check';
import type { CreatedJob } from '../../../src/cron/ensure-jobs.ts';
import { type CronJob, findDifferences } from '../../../src/cron/job.ts';
import { PartnerctlError } from '../../../src/errors.ts';
import {
  type AppendFate,
  type Fate,
  keyOf,
  type ListSays,
  type PostFate,
  type Process,
  UNLISTED_MS,
  World,
} from './world.ts';

const SCHEDULE = { minute: '0', hour: '9', day_of_week: '1-5', timezone: 'UTC' };

/** Two agents have a job of the same name, and one agent has two jobs: a list may not distinguish them. */
const NAMES = [
  { agent_id: 'agt_a', name: 'daily' },
  { agent_id: 'agt_b', name: 'daily' },
  { agent_id: 'agt_a', name: 'weekly' },
] as const;

const CONTENTS = [
  { instructions: 'Sum up.', schedule: SCHEDULE },
  { instructions: 'Sum up.', schedule: { ...SCHEDULE, hour: '10' } },
] as const;

type Which = { readonly key: 0 | 1 | 2; readonly content: 0 | 1 };

function jobOf({ key, content }: Which): CronJob {
  return { ...NAMES[key], ...CONTENTS[content] };
}

/** The events of a scenario: runs of the program, acts of users, and passing time. */
type Event =
  | ({ readonly kind: 'create'; readonly ensure: boolean } & Which & Fate)
  | ({ readonly kind: 'reconcile'; readonly assume: boolean } & Fate)
  /** A user who knows which job it is adopts it; one who knows that there is none forgets it. */
  | ({ readonly kind: 'adopt' | 'forget' } & Pick<Which, 'key'> & Fate)
  | ({ readonly kind: 'remove' } & Pick<Which, 'key'>)
  /** Somebody changes the job at the service. */
  | ({ readonly kind: 'change' } & Which)
  | { readonly kind: 'pass'; readonly ms: number };

/** Waves happen one after another; the events of a wave happen concurrently. */
export type Waves = readonly (readonly Event[])[];

/** The status of a job, or why it is blocked. */
function statusOf({ status, error }: CreatedJob): string {
  const { reason } = Object(error instanceof PartnerctlError ? error.info.details : undefined);
  return status === 'blocked' ? reason : status;
}

function bug(world: World, error: unknown): void {
  // One that the program shows to its user is no bug.
  if (error instanceof PartnerctlError) return;
  world.violations.push(`a bug: ${error instanceof Error ? error.stack : String(error)}`);
}

function checkClaim(world: World, which: Which, outcome: CreatedJob, process: Process): void {
  if (outcome.cron_job_id === null) return;
  const made = world.jobs.find(({ cron_job_id }) => cron_job_id === outcome.cron_job_id);
  if (!made || keyOf(made) !== outcome.key) {
    world.violations.push(`${outcome.status} ${outcome.cron_job_id}, which was not made for ${outcome.key}`);
    return;
  }
  const isOther = findDifferences(made, jobOf(which)).length > 0;
  const wasChanged = made.changedAt > 0;
  // Where the list does not show it, the record says what it is.
  const isListable = !made.removed && process.startedAt >= made.madeAt + UNLISTED_MS;
  const isListed = (process.fate.list ?? 'read') === 'read' && isListable;
  const isShown = world.says.contents && isListed && made.changedAt < process.startedAt;
  const wasAnswered = world.answered.some(({ cron_job_id }) => cron_job_id === made.cron_job_id);
  const isTold = wasChanged ? isShown : world.says.contents || wasAnswered;
  if (isOther && isTold && (outcome.status === 'exists' || outcome.status === 'adopted')) {
    world.violations.push(`${outcome.status} ${outcome.cron_job_id}, which has other content`);
  }
  if (!isOther && isShown && statusOf(outcome) === 'different') {
    world.violations.push(`${outcome.cron_job_id} is called different, and has the same content`);
  }
  const isOurs = world.answered.some(({ cron_job_id, by }) => by === process && cron_job_id === made.cron_job_id);
  if (outcome.status === 'created' && !isOurs) world.violations.push(`created ${made.cron_job_id}, which another made`);
}

/** A run that could write blocks nothing that it did not send. */
function checkNothingUnsentIsOpen(world: World, { key }: Which, { pid, sent, fate }: Process): void {
  const couldWrite = fate.appends?.every((append) => append === 'ok') ?? true;
  const isOwn = ({ by }: { readonly by?: unknown }) => Object(by).pid === pid;
  if (sent > 0 || !couldWrite || !world.standing(keyOf(NAMES[key])).open.some(isOwn)) return;
  world.violations.push(`${pid} sent nothing, and blocks ${NAMES[key].name} of ${NAMES[key].agent_id}`);
}

async function create(world: World, event: Which & { readonly ensure: boolean } & Fate): Promise<string> {
  const process = world.process(event);
  try {
    const outcome = await process.run(() => process.create(jobOf(event), event.ensure));
    if (outcome === 'died') return outcome;
    checkClaim(world, event, outcome, process);
    checkNothingUnsentIsOpen(world, event, process);
    return statusOf(outcome);
  } catch (error) {
    bug(world, error);
    return 'error';
  }
}

async function reconcile(world: World, event: { readonly assume: boolean } & Fate): Promise<void> {
  const process = world.process(event);
  try {
    const results = await process.run(() => process.reconcile(event.assume));
    if (results === 'died') return;
    for (const { status, cron_job_id, reservation } of results) {
      if (status !== 'adopted') continue;
      const made = world.jobs.find((job) => job.cron_job_id === cron_job_id);
      if (!made || keyOf(made) !== reservation.key) world.violations.push(`adopted ${cron_job_id} for another job`);
    }
  } catch (error) {
    bug(world, error);
  }
}

async function adoptOrForget(world: World, { kind, key, ...fate }: Extract<Event, { kind: 'adopt' | 'forget' }>) {
  const process = world.process(fate);
  const job = NAMES[key];
  const [live] = world.live(job);
  const isKnown = () =>
    kind === 'adopt' ? live?.removed === false : world.live(job).length === 0 && !world.isOnItsWay(keyOf(job));
  try {
    await process.run(async () => {
      if (kind === 'forget') await process.forget(job, isKnown);
      else if (live) await process.adopt(job, live.cron_job_id, isKnown);
    });
  } catch (error) {
    bug(world, error);
  }
}

async function happen(world: World, event: Event): Promise<void> {
  switch (event.kind) {
    case 'create':
      await create(world, event);
      return;
    case 'reconcile':
      return await reconcile(world, event);
    case 'adopt':
    case 'forget':
      return await adoptOrForget(world, event);
    case 'remove':
      await world.step('remove');
      for (const job of world.live(NAMES[event.key])) job.removed = true;
      return;
    case 'change':
      await world.step('change');
      for (const job of world.live(NAMES[event.key])) world.change(job, CONTENTS[event.content]);
      return;
    case 'pass':
      await world.step('pass');
      world.now += event.ms;
  }
}

/** Checks that every id a live process received can be found. */
function checkIds(world: World): void {
  const records = world.records();
  const isKept = (id: string, all: typeof records) => all.some(({ object }) => object === id);
  for (const { cron_job_id, key } of world.answered) {
    const isRemoved = world.jobs.some((job) => job.cron_job_id === cron_job_id && job.removed);
    const isBlocked = world.standing(key).open.length > 0;
    if (isRemoved || isBlocked || isKept(cron_job_id, records)) continue;
    world.violations.push(`${cron_job_id} was answered, and is nowhere`);
  }
}

/** Checks that an unaffected job can be created, and that every other job can be settled. */
async function checkWaysOut(world: World): Promise<void> {
  for (const agent_id of ['agt_c', 'agt_d']) {
    const process = world.process();
    const job = { agent_id, name: `fresh ${agent_id}`, ...CONTENTS[0] };
    const outcome = await process.run(() => process.create(job, false));
    if (outcome === 'died' || outcome.status !== 'created')
      world.violations.push(`a fresh job: ${JSON.stringify(outcome)}`);
  }
  world.now += 24 * 3_600_000;
  await reconcile(world, { assume: true });
  for (const key of [0, 1, 2] as const) {
    const { open, objects } = world.standing(keyOf(NAMES[key]));
    const isLive = world.live(NAMES[key]).length > 0;
    if (open.length > 0 && objects.length === 0) await adoptOrForget(world, { kind: isLive ? 'adopt' : 'forget', key });
    const status = await create(world, { key, content: 0, ensure: true });
    const fine = ['created', 'exists', 'adopted', 'different', 'gone'];
    if (!fine.includes(status))
      world.violations.push(`no way out of ${NAMES[key].agent_id} ${NAMES[key].name}: ${status}`);
  }
}

/** @returns the violated promises, none if all is well */
export async function play(scheduler: fc.Scheduler, says: ListSays, waves: Waves): Promise<readonly string[]> {
  const world = new World(scheduler, says);
  for (const wave of waves) await scheduler.waitFor(Promise.all(wave.map((event) => happen(world, event))));
  await scheduler.waitIdle();
  checkIds(world);
  await scheduler.waitFor(checkWaysOut(world));
  checkIds(world);
  return world.violations;
}

/**
 * Runs scenarios on two copies of a state file that diverged, one after the other, and merges them line by line.
 * @param picks which copy the next line comes from
 * @param twice whether lines that both copies have occur twice
 * @returns the violated promises, none if all is well
 */
export async function playMerged(
  scheduler: fc.Scheduler,
  [base, ours, theirs, after]: readonly [Waves, Waves, Waves, Waves],
  picks: readonly boolean[],
  twice: boolean,
): Promise<readonly string[]> {
  const world = new World(scheduler, { agents: true, contents: true });
  const go = async (waves: Waves) => {
    for (const wave of waves) await scheduler.waitFor(Promise.all(wave.map((event) => happen(world, event))));
    await scheduler.waitIdle();
    // Time passes between the copies: only a list that is never late could tell concurrent changes apart.
    world.now += 60_000;
  };
  await go(base);
  const before = world.file;
  await go(ours);
  const copies = [world.lines(), [] as string[]];
  world.file = before;
  await go(theirs);
  copies[1] = world.lines();
  const merged: string[] = [];
  for (let at = 0; copies.some((copy) => copy.length > 0); at += 1) {
    const [one = [], other = []] = picks[at % Math.max(1, picks.length)] ? copies : copies.toReversed();
    const line = one.shift() ?? other.shift();
    if (line !== undefined && (twice || !merged.includes(line))) merged.push(line);
  }
  world.file = merged.map((line) => `${line}\n`).join('');
  await go(after);
  checkIds(world);
  await scheduler.waitFor(checkWaysOut(world));
  return world.violations;
}

const key = fc.constantFrom(0 as const, 1 as const, 2 as const);
const mostly = <Value>(usual: Value, ...rare: readonly Value[]): fc.Arbitrary<Value> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 2, arbitrary: fc.constantFrom(...rare) });

const fate = {
  diesAt: fc.option(fc.integer({ min: 1, max: 18 }), { nil: undefined, freq: 1 }),
  appends: fc.array(mostly<AppendFate>('ok', 'out', 'in', 0.5, 0.999), { maxLength: 3 }),
  reads: fc.array(mostly<'ok' | 'fails'>('ok', 'fails'), { maxLength: 4 }),
  clockMs: mostly<number>(0, -3_600_000, 200_000, 90_000_000),
  stop: fc.option(fc.record({ at: fc.integer({ min: 1, max: 12 }), ms: fc.constantFrom(20_000, 70_000) }), {
    nil: undefined,
    freq: 1,
  }),
};

const content = mostly<0 | 1>(0, 1);

const create_ = (list: Fate['list'][]) =>
  fc.record({
    kind: fc.constant('create' as const),
    key,
    content,
    ensure: fc.boolean(),
    ...fate,
    post: mostly<PostFate>('answered', 'lost', 'vanished', 'broken', 'refused', 'unsent'),
    list: fc.constantFrom(...list),
  });

const reconcile_ = fc.record({ kind: fc.constant('reconcile' as const), assume: fc.boolean(), ...fate });
const byHand_ = fc.record({ kind: fc.constantFrom('adopt' as const, 'forget' as const), key, ...fate });
const remove_ = fc.record({ kind: fc.constant('remove' as const), key });
const change_ = fc.record({ kind: fc.constant('change' as const), key, content });
const pass_ = fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1_000, 9_000, 25_000, 120_000) });

function wavesOf(list: Fate['list'][], maxLength: number): fc.Arbitrary<Waves> {
  const event: fc.Arbitrary<Event> = fc.oneof(
    { weight: 6, arbitrary: create_(list) },
    { weight: 3, arbitrary: reconcile_ },
    { weight: 1, arbitrary: byHand_ },
    { weight: 1, arbitrary: remove_ },
    { weight: 1, arbitrary: change_ },
    { weight: 2, arbitrary: pass_ },
  );
  return fc.array(fc.array(event, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength });
}

export const anySays: fc.Arbitrary<ListSays> = fc.record({
  agents: mostly<boolean>(true, false),
  contents: mostly<boolean>(true, false),
});

export const anyWaves = wavesOf(['read', 'read', 'closed', 'failing'], 4);

/** With a readable list, which is all that copies of a file have in common. */
export const copies = fc.tuple(...([1, 2, 2, 2] as const).map((most) => wavesOf(['read'], most))) as fc.Arbitrary<
  [Waves, Waves, Waves, Waves]
>;
