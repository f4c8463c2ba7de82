import { onTestFinished } from 'vitest';
import type { TraceEvent } from '../../src/api/attempt.ts';
import { Http } from '../../src/api/http.ts';
import type { HttpOptions } from '../../src/api/http-options.ts';
import { Transport } from '../../src/api/transport.ts';
import { fastClock, type Ran, type RunOptions, run } from './run.ts';

export const TOKEN = 'pat_faults_0123456789abcdef';

/** The HTTP core on a real connection to a base URL, with a clock on which waits take no time. */
export function client(baseUrl: string, options: Partial<HttpOptions> = {}): { http: Http; events: TraceEvent[] } {
  const events: TraceEvent[] = [];
  const transport = new Transport({ origin: new URL(baseUrl).origin, proxy: undefined });
  onTestFinished(() => transport.close());
  const http = new Http({
    transport,
    baseUrl,
    token: TOKEN,
    userAgent: 'faults',
    clock: fastClock(),
    random: Math.random,
    interrupt: new AbortController().signal,
    retries: 3,
    deadline: undefined,
    trace: (event) => events.push(event),
    redact: (text) => text,
    ...options,
  });
  return { http, events };
}

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
