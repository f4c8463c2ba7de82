import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { HistoryReader } from '../api/history.ts';
import { type FollowDeps, followSession, type SessionEvent } from './follow-session.ts';
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
  readonly lagsUntil?: number;
}

const MAX_CONCURRENT_POLLS = 6;
/** Reading what exists may not wait for ever. */
const READ_OUTAGE_MS = 30_000;

/** Follows the sessions of a command, which share the health of the connection. */
export class Follower {
  readonly health = new Health();
  private readonly deps: FollowDeps;
  private readonly options: FollowOptions;
  private readonly reader: HistoryReader;
  private readonly limit = pLimit(MAX_CONCURRENT_POLLS);
  private readonly paces: Pace[] = [];
  private readonly stopping = new AbortController();
  /** Aborts when following ends. */
  readonly signal: AbortSignal;

  constructor(deps: FollowDeps, options: FollowOptions = {}) {
    this.deps = deps;
    this.options = options;
    this.reader = new HistoryReader(deps.http);
    this.signal = AbortSignal.any([deps.signal, this.stopping.signal]);
    // Every session listens to it.
    setMaxListeners(0, this.signal);
  }

  /** Follows one more session. @throws as `followSession` */
  follow(ref: SessionRef, start: FollowStart): AsyncGenerator<SessionEvent, void, void> {
    const { deps, signal, paces, reader, limit, health } = this;
    const { once = false, intervalMs, lagsUntil = 0 } = this.options;
    const { maxOutageMs = once ? READ_OUTAGE_MS : Number.POSITIVE_INFINITY } = this.options;
    const pace = new Pace({ ...deps, signal, intervalMs, sessions: () => paces.length });
    paces.push(pace);
    const polling = { ...deps, signal, reader, limit, health, pace, once, lagsUntil, maxOutageMs };
    return followSession(polling, ref, start);
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
