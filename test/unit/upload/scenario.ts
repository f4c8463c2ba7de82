import fc from 'fast-check';
import { memorySource } from './engine.ts';
import { ATTEMPT_OUTCOMES, type Fate, World } from './world.ts';

interface Run {
  readonly file: number;
  readonly force: boolean;
  readonly retryUnknown: boolean;
  readonly fate: Fate;
}

/** The first two have the same content, the middle two the same name; the first and the last differ only in their stamp. */
const FILES = [
  () => memorySource('a.txt', 'one', 'stamp-a'),
  () => memorySource('b.txt', 'one', 'stamp-b'),
  () => memorySource('b.txt', 'two', 'stamp-c'),
  () => memorySource('a.txt', 'one', 'stamp-d'),
] as const;

const anyFate: fc.Arbitrary<Fate> = fc.record({
  attempts: fc.array(fc.constantFrom(...ATTEMPT_OUTCOMES), { maxLength: 3 }),
  diesAt: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(Number.POSITIVE_INFINITY)),
  failsAt: fc.oneof(
    { weight: 4, arbitrary: fc.constant(-1) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) },
  ),
  isKept: fc.boolean(),
  reservesFirst: fc.boolean(),
});

const anyRun: fc.Arbitrary<Run> = fc.record({
  file: fc.integer({ min: 0, max: FILES.length - 1 }),
  force: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  retryUnknown: fc.boolean(),
  fate: anyFate,
});

/** Waves run one after another; the runs of a wave run concurrently. */
export const anyWaves = fc.array(fc.array(anyRun, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });

async function run(world: World, { file, fate, ...options }: Run): Promise<void> {
  const source = FILES[file]?.();
  if (source) await world.process(fate).upload(source, options);
}

/** @returns the violated promises, none if all is well */
export async function play(scheduler: fc.Scheduler, waves: readonly (readonly Run[])[]): Promise<readonly string[]> {
  const world = new World(() => scheduler.schedule(Promise.resolve()));
  for (const wave of waves) await scheduler.waitFor(Promise.all(wave.map((each) => run(world, each))));
  for (const file of FILES) {
    const outcome = scheduler.waitFor(world.process().upload(file(), { retryUnknown: true }));
    const { status } = Object(await outcome);
    if (status !== 'uploaded' && status !== 'skipped') world.violations.push(`${status} in the end`);
  }
  return world.violations;
}
