import fc from 'fast-check';
import { expect, test } from 'vitest';

const SECONDS = 6;
/** CPU time of one input, which does not depend on the load of the machine. */
const MAX_MS = 2_000;

/**
 * Declares a test that tries a property for some seconds, and prints how many inputs it tried and how long the slowest
 * took. `SEED=$RANDOM` tries others.
 */
export function fuzz(name: string, property: fc.IRawProperty<unknown>, seconds = SECONDS): void {
  test(name, async () => {
    let slowestMs = 0;
    const timed: typeof property = Object.create(property, {
      run: {
        async value(...input: Parameters<typeof property.run>) {
          const before = process.cpuUsage();
          const failure = await property.run(...input);
          const { user, system } = process.cpuUsage(before);
          slowestMs = Math.max(slowestMs, (user + system) / 1_000);
          return failure;
        },
      },
      isAsync: { value: () => true },
    });
    const details = await fc.check(timed, {
      numRuns: 100_000_000,
      maxSkipsPerRun: 1_000,
      interruptAfterTimeLimit: seconds * 1_000,
    });
    process.stdout.write(
      `${name}: ${details.numRuns} inputs in ${seconds} s, the slowest took ${Math.round(slowestMs)} ms\n`,
    );
    expect(details.failed ? fc.defaultReportMessage(details) : undefined).toBeUndefined();
    expect(details.numRuns).toBeGreaterThan(0);
    expect(slowestMs).toBeLessThan(MAX_MS);
  });
}

/** Runs an action that may only throw errors of some classes. @returns undefined if it threw */
export function allow<Value>(
  classes: readonly (new (...args: never[]) => Error)[],
  act: () => Value,
): Value | undefined {
  try {
    return act();
  } catch (error) {
    if (classes.some((each) => error instanceof each)) return undefined;
    throw error;
  }
}
