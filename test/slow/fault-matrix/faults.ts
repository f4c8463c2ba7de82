import { forwardTo, type Handler, json, passOn, reset, type Step } from '../../support/fake-service.ts';
import type { Meaning } from './exit-codes.ts';

/** What a step in front of the service may use. */
interface Between {
  /** The origin of the service. */
  readonly target: string;
  /** An origin to which nothing may be sent. */
  readonly elsewhere: string;
}

/** A column of the matrix. */
export interface Fault {
  readonly name: string;
  readonly meaning: Meaning;
  /** Which requests can have it: all by default. */
  readonly only?: 'reads' | 'writes';
  /** Whether every request has it from the faulty one on, until the end of the command. */
  readonly lasting?: true;
  /** Whether every request of the command has it. */
  readonly isThroughout?: true;
  /** Whether nothing listens from the start. */
  readonly refuses?: true;
  /** A rule of the sandbox, */
  readonly rule?: Readonly<Record<string, unknown>>;
  /** or a step in front of it. */
  readonly step?: (between: Between) => Step;
  /** Whether lists do not show yet what the command adds. */
  readonly isStale?: true;
}

/** Responds with what the service responds, changed. */
const changed =
  (change: (text: string, between: Between) => string) =>
  (between: Between): Handler =>
  async (request, response) => {
    const answer = await passOn(request, between.target);
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(change(answer.text, between));
  };

/** A page of a gateway. */
const page =
  (status: number): Handler =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end(`<html><title>${status}</title></html>`);

/** An error in the service's own format. */
const problem = (status: number, code: string): Handler => json({ error: { code, message: 'Not now.' } }, status);

/** Resets a connection that has served a request before, as if it had just been closed. */
const resetIfReused = ({ target }: Between, used = new WeakSet<object>()): Step => ({
  onHeaders(request, response, count) {
    if (used.has(request.connection)) return void request.connection.resetAndDestroy();
    used.add(request.connection);
    return forwardTo(target).onHeaders(request, response, count);
  },
});

export const FAULTS: readonly Fault[] = [
  { name: 'refused', meaning: 'unsent', isThroughout: true, refuses: true },
  { name: 'reset before', meaning: 'undone', step: () => reset },
  { name: 'reset after', meaning: 'lost', rule: { kind: 'reset', stage: 'after' } },
  { name: 'reset always', meaning: 'outage', lasting: true, rule: { kind: 'reset', stage: 'after' } },
  { name: 'kept-alive connection closed', meaning: 'harmless', isThroughout: true, step: resetIfReused },
  { name: 'stall before', meaning: 'late', rule: { kind: 'stall' } },
  { name: 'cut in the body', meaning: 'lost', rule: { kind: 'cut' } },
  { name: 'another shape', meaning: 'unreadable', step: changed(() => '{"status":"ok"}') },
  {
    name: 'links elsewhere',
    meaning: 'harmless',
    only: 'reads',
    step: changed((text, { elsewhere }) => text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, elsewhere)),
  },
  { name: 'old lists', meaning: 'harmless', isThroughout: true, isStale: true },
  {
    name: 'reset after, and old lists',
    meaning: 'stale',
    only: 'writes',
    isStale: true,
    rule: { kind: 'reset', stage: 'after' },
  },
  { name: '504 before it is carried out', meaning: 'lost', only: 'writes', rule: { kind: 'late', ms: 1 } },
  { name: '502 page', meaning: 'undone', step: () => page(502) },
  {
    name: '307 elsewhere',
    meaning: 'redirect',
    step:
      ({ elsewhere }) =>
      ({ path }, response) =>
        response.writeHead(307, { location: `${elsewhere}${path}` }).end(),
  },
  { name: '401', meaning: 'denied', step: () => problem(401, 'invalid_token') },
  { name: '402', meaning: 'balance', step: () => problem(402, 'organization_balance_too_low') },
  { name: '403', meaning: 'forbidden', step: () => problem(403, 'missing_scope') },
  { name: '404', meaning: 'not found', step: () => problem(404, 'not_found') },
  { name: '429', meaning: 'limited', step: () => problem(429, 'rate_limited') },
];
