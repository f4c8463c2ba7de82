import { randomBytes } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { LimitFunction } from 'p-limit';
import type * as v from 'valibot';
import type { Clock } from './clock.ts';
import type { FaultInjector, Quirk } from './faults.ts';
import type { Token } from './resources.ts';
import type { Store } from './store.ts';

/**
 * What a token may be allowed to do. Spec §5 names `spaces.read`, `agents.read`, and `cron_jobs.write`; the others are this
 * service's own.
 */
export const SCOPES = [
  'spaces.read',
  'spaces.provision',
  'agents.read',
  'api_chat.setup',
  'api_chat.runtime',
  'documents.read',
  'documents.write',
  'file_attachments.read',
  'file_attachments.write',
  'cron_jobs.read',
  'cron_jobs.write',
] as const;

export type Scope = (typeof SCOPES)[number];

/** What the functions of one running sandbox share. */
export interface Service {
  readonly store: Store;
  readonly clock: Clock;
  /** The last partner requests, oldest first. */
  readonly requests: LoggedRequest[];
  /** The requests of each token in its current window. */
  readonly rates: Map<string, { readonly endsAt: number; used: number }>;
  /** Replaced with each new fault plan. */
  faults: FaultInjector;
  /** Limits the webhooks that are sent at a time. */
  readonly sending: LimitFunction;
  readonly webhookTimeoutMs: number;
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  readonly origin: string;
  readonly adminKeyHash: string;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/** A partner request and the status of its response. Never has headers, which hold the token. */
export interface LoggedRequest {
  readonly at: string;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  /** As received, without the question mark. */
  readonly query: string;
  /** The pattern of the path, `/v1/automation/spaces/:space_id/agents/`; `/v1/*` for an unknown path. */
  readonly route: string;
  /** Null until there is a response, and forever if a fault suppressed it. */
  status: number | null;
  token_id: string | null;
  /** The injected fault, as `kind/stage`. */
  fault: string | null;
  /** The parsed body of a write, unless it is over 64 KiB. Of an upload only `bytes` and `sha256`. */
  body: unknown;
  /** The stack of an error in the service itself. */
  crash: string | null;
}

export interface ServiceEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    /** The log entry of a partner request; admin requests have none. */
    entry?: LoggedRequest;
    /** Set once the caller is authenticated. */
    token: Token;
    /** The fault to apply to the list in this response. */
    quirk?: Quirk;
    /** Set by a fault: a handler awaits it once the body was received. */
    onBodyReceived?: () => Promise<void>;
  };
}

export type ServiceContext = Context<ServiceEnv>;

export type ServiceApp = Hono<ServiceEnv>;

/** An operation of the partner API (spec §4): its route, and what the reference document says about it. */
export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST';
  /** Below `/v1`; `:name` is a parameter. */
  readonly path: string;
  readonly scope: Scope;
  readonly summary: string;
  /** What a query may have besides `page_size` and `cursor`. */
  readonly query?: v.ObjectSchema<v.ObjectEntries, undefined>;
  /** The JSON body. */
  readonly body?: v.GenericSchema;
  /** Whether the body may be a form with a file. */
  readonly takesFile?: boolean;
  readonly returns: v.GenericSchema;
  /** Whether the response is a page of a list; the history is a list without `count`. */
  readonly list?: 'counted' | 'history';
  /** The statuses of success; 200 by default. */
  readonly statuses?: readonly (200 | 201)[];
  readonly handle: (c: ServiceContext) => Response | Promise<Response>;
}

/** Creates an identifier: the prefix, an underscore, and 80 random bits in hexadecimal. */
export function createId(prefix: string): string {
  return `${prefix}_${randomBytes(10).toString('hex')}`;
}

/** The service's current time in ISO 8601. */
export function timestamp({ clock }: Pick<Service, 'clock'>): string {
  return new Date(clock.now()).toISOString();
}

/** The headers of every response. The service has one clock: a Retry-After date must agree with the Date. */
export function commonHeaders(service: Service, requestId: string): Record<string, string> {
  return {
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    Date: new Date(service.clock.now()).toUTCString(),
  };
}
