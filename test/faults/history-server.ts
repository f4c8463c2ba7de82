import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { Http } from '../../src/api/http.ts';
import { createTransport } from '../../src/api/transport.ts';
import type { FollowDeps, FollowEvent } from '../../src/chat/types.ts';

import type { Clock } from '../../src/clock.ts';
import { fastClock } from '../helpers/run.ts';
import { findClosedPort } from '../helpers/tcp-server.ts';

interface Entry {
  readonly message_id: string;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly created_at?: string;
}

/** One history request, and what a test may do with it. */
export interface Asked {
  readonly session: string;
  readonly after: string | undefined;
  readonly url: URL;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly json: (status: number, body: unknown, headers?: Record<string, string>) => void;
}

export interface HistoryServer {
  readonly baseUrl: string;
  readonly asked: Asked[];
  readonly sessions: Map<string, Entry[]>;
  /** Adds messages to a session, of long ago and each a millisecond after the one before, or of a moment. */
  add(session: string, count: number, role?: Entry['role'], at?: Date): void;
  /** What answers in place of the well-behaved history; undefined for that. */
  behave(handler: ((asked: Asked, wellBehaved: () => readonly Entry[]) => void) | undefined): void;
  /** Resolves when a request has come that fits. */
  seen(fits: (asked: Asked) => boolean): Promise<Asked>;
  stop(): Promise<void>;
  /** Begins to listen again at the same address. */
  restart(): Promise<void>;
}

const T0 = Date.UTC(2026, 0, 1);

/** A history service on a loopback port, made to behave as badly as a test likes. */
export async function historyServer(): Promise<HistoryServer> {
  const sessions = new Map<string, Entry[]>();
  const asked: Asked[] = [];
  const waiting: { fits: (asked: Asked) => boolean; resolve: (asked: Asked) => void }[] = [];
  const sockets = new Set<Socket>();
  let handler: ((asked: Asked, wellBehaved: () => readonly Entry[]) => void) | undefined;
  let total = 0;

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const session = url.searchParams.get('session_id') ?? '';
    const after = url.searchParams.get('after_message_id') ?? undefined;
    const json: Asked['json'] = (status, body, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    };
    const one: Asked = { session, after, url, request, response, json };
    asked.push(one);
    const wellBehaved = (): readonly Entry[] => {
      const entries = sessions.get(session) ?? [];
      return entries.slice(entries.findIndex(({ message_id }) => message_id === after) + 1);
    };
    if (handler) handler(one, wellBehaved);
    else json(200, { results: wellBehaved(), next: null });
    for (const wait of [...waiting]) {
      if (!wait.fits(one)) continue;
      waiting.splice(waiting.indexOf(wait), 1);
      wait.resolve(one);
    }
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  // One that nobody else is given between `stop` and `restart`.
  const port = await findClosedPort();
  await listen(port);
  onTestFinished(() => (server.listening ? stop() : undefined));

  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    asked,
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
    behave(next) {
      handler = next;
    },
    seen: (fits) => new Promise((resolve) => waiting.push({ fits, resolve })),
    stop,
    restart: () => listen(port),
  };
}

/**
 * What following needs, with real HTTP. No time passes while an answer is awaited: how long that takes on a busy machine
 * must not count as quiet, as an outage, or as a machine that slept.
 */
export function partsFor(baseUrl: string, clock: Clock = fastClock()): FollowDeps & { stop(): void } {
  const control = new AbortController();
  const transport = createTransport({ origin: new URL(baseUrl).origin, proxy: undefined });
  onTestFinished(() => transport.close());
  const http = new Http({
    transport,
    baseUrl,
    token: 'token',
    userAgent: 'test',
    clock,
    random: Math.random,
    interrupt: new AbortController().signal,
    retries: 3,
    deadline: undefined,
    trace: () => undefined,
    redact: (text) => text,
  });
  return { http, clock, random: Math.random, interrupt: control.signal, stop: () => control.abort() };
}

/** The events as short words: `+id` for a message, else their kind. That all was read is left out. */
export function words(events: readonly FollowEvent[]): string[] {
  const told = events.filter(({ kind }) => kind !== 'caught-up');
  return told.map((event) => {
    if (event.kind === 'message') return `+${event.message.message_id}`;
    return event.kind === 'end' ? `end:${event.reason}` : event.kind;
  });
}

/** Pulls events until one fits, that one included. */
export async function until(
  events: AsyncGenerator<FollowEvent, void, void>,
  fits: (event: FollowEvent) => boolean,
): Promise<FollowEvent[]> {
  const pulled: FollowEvent[] = [];
  for (;;) {
    const { value, done } = await events.next();
    if (done) return pulled;
    pulled.push(value);
    if (fits(value)) return pulled;
  }
}
