import { randomBytes } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { LimitFunction } from 'p-limit';
import type * as v from 'valibot';
import type { Clock } from './clock.ts';
import type { FaultInjector } from './faults.ts';
import type { Token } from './resources.ts';
import type { Store } from './store.ts';

/**
 * What a token may be allowed to do. Spec §5 names `spaces.read`, `agents.read`, and `cron_jobs.write`; the others are
 * this service's own.
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
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  readonly origin: string;
  readonly adminKey: string;
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
  /** Whether the body is a form with a file. */
  readonly takesFile?: boolean;
  readonly returns: v.GenericSchema;
  /** Whether the response is a page of a list; the history is a list without `count`. */
  readonly list?: 'counted' | 'history';
  readonly handle: (service: Service, c: ServiceContext) => Response | Promise<Response>;
}

/** Creates an identifier: the prefix, an underscore, and 80 random bits in hexadecimal. */
export function createId(prefix: string): string {
  return `${prefix}_${randomBytes(10).toString('hex')}`;
}

/** The service's current time in ISO 8601. */
export function timestamp({ clock }: Service): string {
  return new Date(clock.now()).toISOString();
}
