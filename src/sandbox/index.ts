import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import pLimit from 'p-limit';
import * as v from 'valibot';
import { issueToken, newTokenSchema } from './access.ts';
import { createApp } from './app.ts';
import { scheduleReply } from './chat.ts';
import { Clock } from './clock.ts';
import { scheduleJob } from './cron.ts';
import { createInjector, type FaultPlan } from './faults.ts';
import type { Script } from './script.ts';
import type { Observe, Service } from './service.ts';
import { openStore, type Store } from './store.ts';
import { setWebhook } from './webhooks.ts';

export interface SandboxOptions {
  /** A free port by default. */
  readonly port?: number | undefined;
  /** The directory of the data; by default the data is only in memory. */
  readonly dataDir?: string | undefined;
  readonly faults?: FaultPlan | undefined;
  /** How agents reply; by default as stored in the data directory, or else with an echo. */
  readonly script?: Script | undefined;
  /** The URL that gets every completed message; its secret is by default that of the sandbox. */
  readonly webhook?: { readonly url: string; readonly secret?: string | undefined } | undefined;
  readonly observe?: Observe;
  /** Milliseconds since the epoch; the machine's clock by default. */
  readonly now?: () => number;
}

export interface Sandbox {
  /** `http://127.0.0.1:PORT/v1` */
  readonly baseUrl: string;
  /** `http://127.0.0.1:PORT/_sandbox` */
  readonly adminUrl: string;
  readonly adminKey: string;
  /** A partner token with every scope, for every caller's address. */
  readonly token: string;
  /** The secret of the webhook in the options; without one, undefined. */
  readonly webhookSecret: string | undefined;
  /** For a caller that changes more than requests can. */
  readonly service: Service;
  /** Ends every connection, writes pending changes to disk, and releases the data directory. */
  close(): Promise<void>;
}

const HOST = '127.0.0.1';

async function listen(server: Server, port: number): Promise<number> {
  server.listen({ host: HOST, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new Error(`Port ${port} cannot be used: ${cause}.`, { cause });
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function createSecrets(store: Store) {
  const adminKey = `sbadm_${randomBytes(24).toString('base64url')}`;
  const { token } = issueToken(store, v.parse(newTokenSchema, {}));
  const webhookSecret = `whsec_${randomBytes(32).toString('base64')}`;
  const secrets = { adminKey, token, webhookSecret };
  store.secrets.put(secrets);
  return secrets;
}

/** Ends every request in progress without a response. */
async function shutDown(server: Server, closing: AbortController, store: Store): Promise<void> {
  closing.abort();
  if (server.listening) {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }
  await store.close();
}

/**
 * Starts the Partner Automation API on this machine: a real HTTP server on a loopback address, with an admin API
 * (`/_sandbox`) that issues tokens, changes settings, injects faults, and shows what was received.
 * @throws Error when the port or the data directory is in use, or the data is damaged
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, dataDir, faults = { rules: [] }, script, now = Date.now } = options;
  const { observe = (_, handle) => handle() } = options;

  const store = await openStore(dataDir);
  // A large upload may take longer than Node's default of five minutes.
  const server = createServer({ requestTimeout: 0 });
  const closing = new AbortController();
  try {
    const origin = `http://${HOST}:${await listen(server, port)}`;
    const { token, adminKey, webhookSecret } = store.secrets.get() ?? createSecrets(store);
    const service: Service = {
      store,
      clock: new Clock(store, now, closing.signal),
      requests: [],
      rates: new Map(),
      webhooks: new Map(),
      deliveries: new Map(),
      faults: createInjector(faults),
      sending: pLimit(8),
      origin,
      adminKey,
      webhookSecret,
      observe,
      closing: closing.signal,
    };
    if (script) store.script.put({ rules: script });
    const webhook = options.webhook && setWebhook(service, options.webhook);
    // Continue with what was pending when the sandbox last stopped.
    for (const reply of store.replies.all()) scheduleReply(service, reply);
    for (const job of store.cronJobs.all()) scheduleJob(service, job);
    const app = createApp(service);
    // The adapter would otherwise replace the global Request and Response of the process.
    const adapter = { overrideGlobalObjects: false, errorHandler: () => new Response('Bad Request', { status: 400 }) };
    server.on(
      'request',
      getRequestListener((request, env) => app.fetch(request, env), adapter),
    );
    await store.durable();
    return {
      baseUrl: `${origin}/v1`,
      adminUrl: `${origin}/_sandbox`,
      token,
      adminKey,
      webhookSecret: webhook?.secret,
      service,
      close: () => shutDown(server, closing, store),
    };
  } catch (error) {
    await shutDown(server, closing, store);
    throw error;
  }
}
