import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { AgentRunner } from './chat/runner.ts';
import type { CronRunner } from './cron/runner.ts';
import type { FaultDice, Quirk } from './faults.ts';
import type { RateLimiter } from './rate-limit.ts';
import type { LoggedRequest, RequestLog } from './request-log.ts';
import type { Scope } from './scopes.ts';
import type { Store } from './store/store.ts';
import type { LiveToken } from './store/tokens.ts';
import type { Timeline } from './time/timeline.ts';

/** What the handlers of one running sandbox share. */
export interface Service {
  readonly store: Store;
  readonly timeline: Timeline;
  readonly runner: AgentRunner;
  readonly cron: CronRunner;
  readonly log: RequestLog;
  readonly limiter: RateLimiter;
  /** Replaced whole when the fault plan is. */
  faults: FaultDice;
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly origin: string;
  readonly adminKeyHash: string;
  /** The timeline's present, in milliseconds since the epoch. */
  readonly now: () => number;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

export interface ServiceEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    /** The partner request's entry in the log; there is none for the admin surface. */
    entry?: LoggedRequest;
    /** Set once the caller is known. */
    token: LiveToken;
    /** How the history is to misbehave. */
    quirk?: Quirk;
  };
}

export type ServiceContext = Context<ServiceEnv>;

/** One partner endpoint: the path below `/v1`, the scope it needs, and what answers it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly scope: Scope;
  handle(c: ServiceContext): Response | Promise<Response>;
}

/** The headers of every answer. */
export function commonHeaders(service: Service, requestId: string): Record<string, string> {
  return {
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    // The service has one clock: a Retry-After date must agree with this one.
    Date: new Date(service.now()).toUTCString(),
  };
}

/** The current moment in ISO 8601. */
export function timestamp(service: Pick<Service, 'now'>): string {
  return new Date(service.now()).toISOString();
}
