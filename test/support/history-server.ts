import type { IncomingMessage, ServerResponse } from 'node:http';
import { onTestFinished, vi } from 'vitest';
import type { Clock } from '../../src/platform/clock.ts';
import { type FakeRequest, sendJson, startFakeService } from './fake-service.ts';
import { fastClock } from './run.ts';

export interface Entry {
  readonly message_id: string;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly created_at?: string;
}

/** A history request, with the actions of a test on it. */
export interface HistoryRequest {
  readonly session: string;
  readonly after: string | undefined;
  readonly url: URL;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly json: (status: number, body: unknown, headers?: Record<string, string>) => void;
}

/** @param wellBehaved returns the messages after the cursor */
type HistoryHandler = (request: HistoryRequest, wellBehaved: () => readonly Entry[]) => void;

export interface HistoryServer {
  readonly baseUrl: string;
  readonly requests: HistoryRequest[];
  readonly sessions: Map<string, Entry[]>;
  /** Adds messages to a session: a millisecond apart and long ago, or with the given timestamp. */
  add(session: string, count: number, role?: Entry['role'], at?: Date): void;
  /** Replaces the well-behaved history; undefined restores it. */
  behave(handler: HistoryHandler | undefined): void;
  /** Cuts all connections, and listens again on the same port. */
  restart(): Promise<void>;
}

const T0 = Date.UTC(2026, 0, 1);

/** Starts a service with histories of sessions, whose responses a test can replace. */
export async function historyServer(): Promise<HistoryServer> {
  const sessions = new Map<string, Entry[]>();
  const requests: HistoryRequest[] = [];
  const answer: HistoryHandler = ({ json }, wellBehaved) => json(200, { results: wellBehaved(), next: null });
  let handler: HistoryHandler = answer;
  let total = 0;
  let restarted = Promise.resolve();
  const onHeaders = ({ path, query, incoming }: FakeRequest, response: ServerResponse): void => {
    const session = query.get('session_id') ?? '';
    const after = query.get('after_message_id') ?? undefined;
    const json: HistoryRequest['json'] = (status, body, headers) => sendJson(response, body, status, headers);
    const url = new URL(path, 'http://localhost');
    const request: HistoryRequest = { session, after, url, request: incoming, response, json };
    requests.push(request);
    handler(request, () => {
      const entries = sessions.get(session) ?? [];
      return entries.slice(entries.findIndex(({ message_id }) => message_id === after) + 1);
    });
  };
  const service = await startFakeService({ onHeaders });

  return {
    baseUrl: service.baseUrl,
    requests,
    sessions,
    add(session, count, role = 'assistant', at) {
      const entries = sessions.get(session) ?? [];
      sessions.set(session, entries);
      for (let index = 0; index < count; index += 1) {
        total += 1;
        const created_at = (at ?? new Date(T0 + total)).toISOString();
        entries.push({ message_id: `${session}-${entries.length}`, role, text: `text ${entries.length}`, created_at });
      }
    },
    behave(next = answer) {
      handler = next;
    },
    restart() {
      restarted = restarted.then(service.stop).then(service.restart);
      return restarted;
    },
  };
}

/** How long the machine may take to notice a closed connection, in turns of the event loop. */
const TURNS = 100;

/**
 * A fast clock on which time also passes while the service does not respond, so that the time limit of a request ends it. `stall`
 * leaves a request without a response, and resolves with the milliseconds until the client gave up.
 */
export function stallingClock(): Clock & { stall(request: HistoryRequest): Promise<number> } {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { now, sleep } = fastClock();
  let ahead = 0;
  return {
    now: () => now() + ahead,
    monotonic: () => now() + ahead,
    sleep,
    async stall({ response }) {
      let waited = 0;
      while (!response.destroyed) {
        waited += 1_000;
        ahead += 1_000;
        vi.advanceTimersByTime(1_000);
        for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      }
      return waited;
    },
  };
}

/** The path and query of a request with one parameter changed. */
export function nextPath(url: URL, name: string, value: string | number): string {
  const next = new URL(url);
  next.searchParams.set(name, String(value));
  return next.pathname + next.search;
}
