import type { IncomingMessage, ServerResponse } from 'node:http';
import { type FakeRequest, sendJson, startFakeService } from './fake-service.ts';
import { manualSignals, partnerctl, type Ran, type RunOptions, tinyRandom } from './run.ts';

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

export type HistoryServer = Awaited<ReturnType<typeof historyServer>>;

const T0 = Date.UTC(2026, 0, 1);

/** The sessions of the tests. */
const KNOWN = /^[a-z]$/;

/**
 * Starts a service with histories of sessions, which one letter names, and whose responses a test can replace. Any other session
 * has no messages, and requests for it do not count: the client asks for one to see that.
 */
export async function historyServer() {
  const sessions = new Map<string, Entry[]>();
  const requests: HistoryRequest[] = [];
  let handler: HistoryHandler = ({ json }, wellBehaved) => json(200, { results: wellBehaved(), next: null });
  let total = 0;
  let restarted = Promise.resolve();
  const onHeaders = ({ path, query, incoming }: FakeRequest, response: ServerResponse): void => {
    const session = query.get('session_id') ?? '';
    const after = query.get('after_message_id') ?? undefined;
    const json: HistoryRequest['json'] = (status, body, headers) => sendJson(response, body, status, headers);
    const url = new URL(path, 'http://localhost');
    const request: HistoryRequest = { session, after, url, request: incoming, response, json };
    if (KNOWN.test(session)) requests.push(request);
    const answer: HistoryHandler = KNOWN.test(session) ? handler : () => json(200, { results: [], next: null });
    answer(request, () => {
      const entries = sessions.get(session) ?? [];
      return entries.slice(entries.findIndex(({ message_id }) => message_id === after) + 1);
    });
  };
  const service = await startFakeService({ onHeaders });
  return {
    baseUrl: service.baseUrl,
    requests,
    sessions,
    /** Adds messages to a session: a millisecond apart and long ago, or with the given timestamp. */
    add(session: string, count: number, role: Entry['role'] = 'assistant', at?: Date): void {
      const entries = sessions.get(session) ?? [];
      sessions.set(session, entries);
      for (let index = 0; index < count; index += 1) {
        total += 1;
        const created_at = (at ?? new Date(T0 + total)).toISOString();
        entries.push({ message_id: `${session}-${entries.length}`, role, text: `text ${entries.length}`, created_at });
      }
    },
    /** Replaces the well-behaved history. */
    behave(next: HistoryHandler): void {
      handler = next;
    },
    /** Cuts all connections, and listens again on the same port. */
    restart(): Promise<void> {
      restarted = restarted.then(service.stop).then(service.restart);
      return restarted;
    },
  };
}

/** The path and query of a request with one parameter changed. */
export function nextPath(url: URL, name: string, value: string | number): string {
  const next = new URL(url);
  next.searchParams.set(name, String(value));
  return next.pathname + next.search;
}

/** What a tail of the session `s` showed. */
interface Tailed extends Ran {
  readonly ids: readonly string[];
}

/** The ids of the messages in the output of a tail, in order. */
export function idsOf(stdout: string): string[] {
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line).message_id));
}

/** The ids of consecutive messages of the session `s`. */
export function idsFrom(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => `s-${first + index}`);
}

async function tail({ baseUrl }: HistoryServer, flags: readonly string[], options: RunOptions): Promise<Tailed> {
  const args = ['chat', 'tail', '--source', 'src', '--session', 's', '-o', 'json', '-q', ...flags];
  const ran = await partnerctl(baseUrl, args, { random: tinyRandom, ...options });
  return { ...ran, ids: idsOf(ran.stdout) };
}

/** Reads the history of the session `s` to its end. @param flags where to start: `--from-start`, `--after <id>`, `--tail <n>` */
export function readAll(server: HistoryServer, ...flags: readonly string[]): Promise<Tailed> {
  return tail(server, [...flags, '--no-follow'], {});
}

/**
 * Follows the session `s` until `isOver`, as with Ctrl-C. A tail that loses a message ends after two hours of its clock, which
 * take a moment.
 */
export function tailUntil(
  server: HistoryServer,
  flags: readonly string[],
  isOver: (shown: { readonly ids: readonly string[] }) => boolean,
  options: RunOptions = {},
): Promise<Tailed> {
  const signals = manualSignals();
  const onStdout = (text: string): void => {
    if (isOver({ ids: idsOf(text) })) signals.ctrlC();
  };
  const limit = flags.includes('--timeout') ? [] : ['--timeout', '2h'];
  return tail(server, [...flags, ...limit], { signals, onStdout, ...options });
}
