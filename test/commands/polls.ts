import { expect } from 'vitest';
import { leapingClock, type Ran, type RunOptions, run } from '../helpers/run.ts';
import type { Service } from '../helpers/service.ts';
import { HISTORY } from '../sandbox/chat.ts';

/**
 * Resolves once the history was asked for so many times more: with the second time, the answer to the first was read.
 * @param act what makes that happen, unless it happens again and again
 */
export async function polled(
  { received }: Service,
  times: number,
  act: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const asked = async (): Promise<number> => (await received()).filter(({ path }) => path.endsWith(HISTORY)).length;
  const before = await asked();
  await act();
  await expect.poll(asked).toBeGreaterThanOrEqual(before + times);
}

/** Runs a command whose time is up once it has asked for the history twice, and after all that is to come `before` that. */
export async function runUntilPolled(
  it: Service,
  words: readonly string[],
  { before = async () => undefined, ...options }: RunOptions & { before?: () => Promise<unknown> } = {},
): Promise<Ran> {
  const clock = leapingClock();
  const running = run([...words, '--timeout', '1h'], { env: it.env, clock, ...options });
  await before();
  await polled(it, 2);
  clock.leap(3_600_000);
  return running;
}
