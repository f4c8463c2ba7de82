import { onTestFinished } from 'vitest';
import type { TraceEvent } from '../../../src/api/attempt.ts';
import { Http, type HttpOptions } from '../../../src/api/http.ts';
import { Transport } from '../../../src/api/transport.ts';
import { fastClock, TOKEN } from '../../support/run.ts';

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
