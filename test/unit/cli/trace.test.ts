import { expect, it } from 'vitest';
import type { TraceEvent } from '../../../src/api/attempt.ts';
import { createTrace } from '../../../src/cli/trace.ts';
import { createRedactor } from '../../../src/output/redact.ts';
import { memorySink } from '../../support/sinks.ts';

const SECRET = 'pat_0123456789abcdef';
const URL = `http://127.0.0.1/v1/?next=${SECRET}`;
const MESSAGE = { headers: { 'x-echo': SECRET, authorization: 'Bearer other' }, body: `{"token":"${SECRET}"}` };
const REQUEST = {
  ...MESSAGE,
  ...({ method: 'GET', path: '/', requestId: `req-${SECRET}`, freshConnection: false } as const),
  ...{ headersTimeoutMs: 1, bodyTimeoutMs: 1, signal: AbortSignal.abort() },
};
const RESPONSE = { kind: 'response', status: 200, ...MESSAGE, bytes: Buffer.from(SECRET), sent: 'all' } as const;
const FAILURE = { kind: 'failure', sent: 'all', isTransient: true, message: SECRET, code: undefined } as const;

const EVENTS: readonly TraceEvent[] = [
  { kind: 'request', attempt: 1, request: REQUEST, url: URL },
  { kind: 'result', request: REQUEST, url: URL, result: RESPONSE, ms: 1 },
  { kind: 'result', request: REQUEST, url: URL, result: { ...FAILURE, status: undefined, cause: SECRET }, ms: 1 },
  { kind: 'wait', ms: 1000, why: `for ${SECRET}` },
];

it.each([true, false])(
  'No observer of requests sees a secret, whether what it writes to redacts or not (--debug: %s)',
  (debug) => {
    const seen: string[] = [];
    const sink = { write: async (text: string) => void seen.push(text), isTTY: false, columns: 80 };
    const trace = createTrace({
      flags: { verbose: true, debug },
      redactor: createRedactor([SECRET]),
      progress: { isEnabled: true, countdown: (_, text) => void seen.push(text('1 s')) },
      ...{ clock: { now: () => 0 }, notice: async (text: string) => void seen.push(text) },
      io: { stderr: sink },
    });
    EVENTS.forEach(trace);
    expect(seen).toHaveLength(debug ? 11 : 4);
    expect(seen.join('\n')).toMatch(/\[redacted\]/);
    expect(seen.join('\n')).not.toMatch(/0123456789|Bearer other/);
  },
);

it('A long wait is told once for all calls that wait for the same, and not where a countdown shows it', () => {
  const told: string[] = [];
  let now = 0;
  const progress = { isEnabled: false, countdown: () => undefined };
  const trace = createTrace({
    ...{ flags: { verbose: false, debug: false }, redactor: createRedactor([]), clock: { now: () => now } },
    progress,
    notice: async (text) => void told.push(text),
    io: { stderr: memorySink() },
  });
  const wait = (ms: number) => trace({ kind: 'wait', ms, why: 'after 429' });
  for (const ms of [9_999, 40_000, 40_300, 49_999, 60_000]) wait(ms);
  now = 70_000;
  wait(10_000);
  progress.isEnabled = true;
  wait(90_000);
  expect(told).toEqual([40, 60, 10].map((seconds) => `note: waiting ${seconds} s after 429`));
});
