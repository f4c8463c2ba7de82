import { expect } from 'vitest';
import { HISTORY } from '../support/chat.ts';
import { leapingClock, type Ran, type RunOptions, run } from '../support/run.ts';
import type { Service } from '../support/service.ts';

/**
 * Resolves once the history was requested `times` more times: the second request proves that the first response was read.
 * @param act what triggers the requests, unless they repeat anyway
 */
export async function waitForPolls(
  { received }: Service,
  times: number,
  act: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const asked = async (): Promise<number> => (await received()).filter(({ path }) => path.endsWith(HISTORY)).length;
  const before = await asked();
  await act();
  await expect.poll(asked).toBeGreaterThanOrEqual(before + times);
}

/** Runs a command whose time runs out once it has requested the history twice after `before`. */
export async function runUntilPolled(
  it: Service,
  args: readonly string[],
  { before = async () => undefined, ...options }: RunOptions & { before?: () => Promise<unknown> } = {},
): Promise<Ran> {
  const clock = leapingClock();
  const running = run([...args, '--timeout', '1h'], { env: it.env, clock, ...options });
  await before();
  await waitForPolls(it, 2);
  clock.leap(3_600_000);
  return running;
}
