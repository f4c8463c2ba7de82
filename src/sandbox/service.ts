import { randomBytes } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { AgentRunner } from './agents/agent-runner.ts';
import type { CronRunner } from './agents/cron-runner.ts';
import type { FaultInjector, Quirk } from './faults.ts';
import type { RateLimiter } from './rate-limit.ts';
import type { Bundle } from './replay/bundle.ts';
import type { LoggedRequest, RequestLog } from './request-log.ts';
import type { Scheduler } from './scheduler.ts';
import type { Shape, ShapedRequest } from './shapes/shape.ts';
import type { Token } from './store/changes.ts';
import type { Store } from './store/store.ts';
import type { WebhookDispatcher } from './webhooks/dispatcher.ts';

/** What the handlers of one running sandbox share. */
export interface Service {
  readonly store: Store;
  readonly scheduler: Scheduler;
  readonly agents: AgentRunner;
  readonly cron: CronRunner;
  readonly webhooks: WebhookDispatcher;
  readonly log: RequestLog;
  readonly limiter: RateLimiter;
  /** Replaced with each new fault plan. */
  faults: FaultInjector;
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  readonly origin: string;
  readonly shape: Shape;
  /** Recorded responses to send in place of the service. */
  readonly replay: Bundle | undefined;
  readonly adminKeyHash: string;
  /** How long a client may pause within a body, in milliseconds. */
  readonly clientTimeoutMs: number;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/** What the HTTP adapter and the edge pass to the app with a request. */
export interface Bindings extends HttpBindings {
  /** Set when the request came in another shape. */
  readonly shaped?: ShapedRequest;
  /** Filled in when the request is logged. */
  readonly logged: { entry?: LoggedRequest };
}

export interface ServiceEnv {
  Bindings: Bindings;
  Variables: {
    requestId: string;
    clientTimeoutMs: number;
    /** The log entry of a partner request; admin requests have none. */
    entry?: LoggedRequest;
    /** Set once the caller is authenticated. */
    token: Token;
    /** The fault to apply to the list in this response. */
    quirk?: Quirk;
    /** Set by a fault: handlers await it once the body was received. */
    onBodyReceived?: () => Promise<void>;
  };
}

export type ServiceContext = Context<ServiceEnv>;

export type ServiceApp = Hono<ServiceEnv>;

/** A new identifier: the prefix, an underscore, and 80 random bits in hexadecimal. */
export function createId(prefix: string): string {
  return `${prefix}_${randomBytes(10).toString('hex')}`;
}

/** The headers of every response. */
export function commonHeaders(service: Service, requestId: string): Record<string, string> {
  return {
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    // The service has one clock: a Retry-After date must agree with this one.
    Date: new Date(service.scheduler.now()).toUTCString(),
  };
}

/** The service's current time in ISO 8601. */
export function timestamp({ scheduler }: Pick<Service, 'scheduler'>): string {
  return new Date(scheduler.now()).toISOString();
}
