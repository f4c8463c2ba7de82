import { fastClock, type Ran, type RunOptions, run } from './run.ts';

export const TOKEN = 'pat_faults_0123456789abcdef';

/**
 * Tries with a time limit that is doubled until the test gets far enough within it, because a busy machine takes an unknown time.
 * @param attempt resolves to undefined if it did not get far enough
 */
export async function withinLimit<Reached>(attempt: (ms: number) => Promise<Reached | undefined>): Promise<Reached> {
  for (let ms = 150; ; ms *= 2) {
    const reached = await attempt(ms);
    if (reached !== undefined) return reached;
  }
}

/** Runs a full command line against a base URL; waits take no time unless a clock is given. */
export function partnerctl(baseUrl: string, argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return run(argv, {
    clock: fastClock(),
    ...options,
    env: { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: TOKEN, ...options.env },
  });
}
