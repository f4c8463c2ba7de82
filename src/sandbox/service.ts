import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { LimitFunction } from 'p-limit';
import type * as v from 'valibot';
import type { Token } from './access.ts';
import { CHAT_OPERATIONS } from './chat.ts';
import type { Clock } from './clock.ts';
import { CRON_OPERATIONS } from './cron.ts';
import type { createInjector } from './faults.ts';
import { SPACE_OPERATIONS } from './spaces.ts';
import type { Store } from './store.ts';
import { UPLOAD_OPERATIONS } from './uploads.ts';

/** What the functions of one running sandbox share. */
export interface Service {
  readonly store: Store;
  readonly clock: Clock;
  /** The last partner requests, oldest first. */
  readonly requests: LoggedRequest[];
  /** The requests of each token in its current window. */
  readonly rates: Map<string, { readonly endsAt: number; used: number }>;
  /** Replaced with each new fault plan. */
  faults: ReturnType<typeof createInjector>;
  /** Limits the webhooks that are sent at a time. */
  readonly sending: LimitFunction;
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  readonly origin: string;
  readonly adminKey: string;
  readonly observe: Observe;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/** A partner request and the status of its response. Never has headers, which hold the token. */
export interface LoggedRequest {
  readonly at: string;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Null until there is a response, and forever if a fault suppressed it. */
  status: number | null;
  /** The injected fault, as `kind/stage`. */
  fault: string | null;
  /** The parsed body of a write. Of an upload only `bytes` and `sha256`. */
  body: unknown;
}

/** Sees each partner request as it arrives. The response is sent once this resolves. @param handle handles it */
export type Observe = (request: LoggedRequest, handle: () => Promise<void>) => Promise<void>;

export interface ServiceEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    /** The log entry of a partner request; admin requests have none. */
    entry?: LoggedRequest;
    /** Set once the caller is authenticated. */
    token: Token;
    /** Set by a fault: how old an item must be to be in a list. */
    hiddenMs?: number;
    /** Set by a fault: a handler awaits it once the body was received. */
    onBodyReceived?: () => Promise<void>;
  };
}

export type ServiceContext = Context<ServiceEnv>;

export type ServiceApp = Hono<ServiceEnv>;

/** An operation of the partner API (spec §4): its route, and what the reference document says about it. */
export interface Operation {
  readonly method: 'GET' | 'POST';
  /** Below `/v1`; `:name` is a parameter. */
  readonly path: string;
  /** What a token must be allowed to do. */
  readonly scope: string;
  readonly summary: string;
  readonly query?: v.ObjectSchema<v.ObjectEntries, undefined>;
  /** The JSON body, or a form with a file. */
  readonly body?: v.GenericSchema | 'file';
  readonly returns: v.GenericSchema;
  readonly handle: (service: Service, c: ServiceContext) => Response | Promise<Response>;
}

/** The partner API (spec §4). */
export const OPERATIONS: readonly Operation[] = [
  ...SPACE_OPERATIONS,
  ...CHAT_OPERATIONS,
  ...UPLOAD_OPERATIONS,
  ...CRON_OPERATIONS,
];
