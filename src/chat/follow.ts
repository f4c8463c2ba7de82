import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { HistoryReader } from '../api/history.ts';
import type { Http } from '../api/http.ts';
import type { ChatContext } from './context.ts';
import { followSession, type SessionEvent } from './follow-session.ts';
import { Health } from './health.ts';
import { Pace } from './pace.ts';
import type { FollowStart, SessionRef } from './session.ts';

export interface FollowOptions {
  /** Whether to end once everything that exists has been read. */
  readonly once?: boolean;
  /** How long an outage may last, in milliseconds. Without a limit by default; with `once`, for 30 s. */
  readonly maxOutageMs?: number | undefined;
  /** A fixed pause between two polls of a session; adaptive by default. */
  readonly intervalMs?: number | undefined;
  /** Limits following beside --timeout. */
  readonly limitMs?: number;
  /** How long the history may lack the message to start after, in milliseconds. */
  readonly lagMs?: number;
}

const MAX_CONCURRENT_POLLS = 6;
/** Reading what exists may not wait for ever. */
const READ_OUTAGE_MS = 30_000;

/** Follows the sessions of a command, which share the health of the connection. */
export class Follower {
  readonly health = new Health();
  /** Aborts at an interrupt, and when following ends. */
  readonly signal: AbortSignal;
  private readonly context: ChatContext;
  private readonly http: Http;
  private readonly options: FollowOptions;
  private readonly reader: HistoryReader;
  private readonly limit = pLimit(MAX_CONCURRENT_POLLS);
  private readonly paces: Pace[] = [];
  private readonly stopping = new AbortController();
  private readonly startedAt: number;

  constructor(context: ChatContext, http: Http, options: FollowOptions = {}) {
    this.context = context;
    this.http = http;
    this.options = options;
    this.reader = new HistoryReader(http);
    this.startedAt = context.clock.now();
    this.signal = AbortSignal.any([context.signals.interrupt, this.stopping.signal]);
    // Every session listens to it.
    setMaxListeners(0, this.signal);
  }

  /** Returns how long following may still take, in milliseconds. */
  remainingMs(): number {
    const { limitMs = Number.POSITIVE_INFINITY } = this.options;
    const { clock, flags } = this.context;
    const ofCommand = flags.timeout === undefined ? Number.POSITIVE_INFINITY : this.http.remainingMs();
    return Math.min(this.startedAt + limitMs - clock.now(), ofCommand);
  }

  /** Follows one more session. @throws as `followSession` */
  follow(ref: SessionRef, start: FollowStart): AsyncGenerator<SessionEvent, void, void> {
    const { signal, paces, reader, limit, health, startedAt } = this;
    const { clock, random } = this.context;
    const { once = false, intervalMs, lagMs = 0 } = this.options;
    const { maxOutageMs = once ? READ_OUTAGE_MS : Number.POSITIVE_INFINITY } = this.options;
    const pace = new Pace({ clock, random, signal, intervalMs, sessions: () => paces.length });
    paces.push(pace);
    const shared = { clock, signal, reader, limit, health, baseUrl: this.http.baseUrl, lagsUntil: startedAt + lagMs };
    return followSession({ ...shared, remainingMs: () => this.remainingMs(), pace, once, maxOutageMs }, ref, start);
  }

  /** Something is about to be said: polls all sessions now. */
  wake(): void {
    for (const pace of this.paces) pace.wake();
  }

  /** Ends following. */
  stop(): void {
    this.stopping.abort();
  }
}
