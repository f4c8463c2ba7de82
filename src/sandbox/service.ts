import { json } from 'node:stream/consumers';
import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { LimitFunction } from 'p-limit';
import type * as v from 'valibot';
import type { Clock } from './clock.ts';
import type { createInjector, View } from './faults.ts';
import { check, Problem } from './input.ts';
import type { Route } from './routes.ts';
import type { Delivery, Token } from './rows.ts';
import type { Store } from './store.ts';

/** The URL that gets completed messages, and the secret that signs them. */
export interface Webhook {
  readonly url: string;
  readonly secret: string;
}

/** What the functions of one running sandbox share. */
export interface Service {
  readonly store: Store;
  readonly clock: Clock;
  /** The last partner requests, oldest first. */
  readonly requests: LoggedRequest[];
  /** The requests of each token in its current window. */
  readonly rates: Map<string, { readonly endsAt: number; used: number }>;
  /** By the id of a source; '' for every other source. Not stored: a restart delivers only where it is told to. */
  readonly webhooks: Map<string, Webhook>;
  /** By id, oldest first. Not stored, either. */
  readonly deliveries: Map<string, Delivery>;
  /** Replaced with each new fault plan. */
  faults: ReturnType<typeof createInjector>;
  /** Limits the webhooks that are sent at a time. */
  readonly sending: LimitFunction;
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  readonly origin: string;
  readonly adminKey: string;
  /** Signs webhooks that have no secret of their own. */
  readonly webhookSecret: string;
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
  /** The injected faults: `stale cut`, `status/after`. */
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
    /** Set by faults: how a read shows what there is. */
    views?: readonly View[];
    /** Set by a fault: a handler awaits it once the body was received. */
    onBodyReceived?: () => Promise<void>;
  };
}

export type ServiceContext = Context<ServiceEnv>;

export type ServiceApp = Hono<ServiceEnv>;

/** An operation of the partner API (spec §4). */
export interface Operation extends Route {
  readonly query?: v.ObjectSchema<v.ObjectEntries, undefined>;
  /** The JSON body, or a form with a file. */
  readonly body?: v.GenericSchema | 'file';
  readonly returns: v.GenericSchema;
  readonly handle: (service: Service, c: ServiceContext) => Response | Promise<Response>;
}

/**
 * Receives a JSON object and checks it.
 * @throws Problem 415 for another content type, 400 for a body that is not JSON, 422 for wrong fields
 */
export async function readBody<Schema extends v.GenericSchema>(
  c: ServiceContext,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const { incoming } = c.env;
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(incoming.headers['content-type'] ?? '')) {
    throw new Problem(415, 'unsupported_media_type', 'The body must be sent with Content-Type: application/json.');
  }
  const value = await json(incoming).catch((error) => {
    throw new Problem(400, 'malformed_json', `The body is not JSON: ${error}`);
  });
  await noteBody(c, value);
  return check(schema, value);
}

/** Logs the body that a request sent. A fault may wait here. */
export async function noteBody(c: ServiceContext, body: unknown): Promise<void> {
  await c.get('onBodyReceived')?.();
  const entry = c.get('entry');
  if (entry) entry.body = body;
}
