import { expect, it } from 'vitest';
import type { TraceEvent } from '../../../src/api/attempt.ts';
import { createTrace } from '../../../src/cli/trace.ts';
import { createRedactor } from '../../../src/output/redact.ts';
import { fastClock } from '../../support/run.ts';

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
      flags: { verbose: true, debug, quiet: false },
      clock: fastClock(),
      redactor: createRedactor([SECRET]),
      progress: { countdown: (_, text) => seen.push(text('1 s')) > 0 },
      io: { stderr: sink },
    });
    EVENTS.forEach(trace);
    expect(seen).toHaveLength(debug ? 11 : 4);
    expect(seen.join('\n')).toMatch(/\[redacted\]/);
    expect(seen.join('\n')).not.toMatch(/0123456789|Bearer other/);
  },
);
