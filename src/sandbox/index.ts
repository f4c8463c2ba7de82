import { randomBytes } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import pLimit from 'p-limit';
import { hashSecret, issueToken, newTokenSchema } from './access.ts';
import { createApp } from './app.ts';
import { chatOperations, resumeReplies } from './chat.ts';
import { Clock } from './clock.ts';
import { cronOperations, scheduleJob } from './cron.ts';
import { createInjector, describeUnmatched, type FaultPlan, faultPlanSchema, routesOf } from './faults.ts';
import { hasErrorCode } from './files.ts';
import { checkOption } from './input.ts';
import { type ScriptInput, scriptSchema } from './script.ts';
import type { Service } from './service.ts';
import { spaceOperations } from './spaces.ts';
import { createMemoryStore, openStore, type Store } from './store.ts';
import { uploadOperations } from './uploads.ts';
import { resumeDeliveries, setWebhook, webhookSchema } from './webhooks.ts';

/** The webhooks that are sent at a time. */
const MAX_SENDING = 8;

export interface SandboxOptions {
  /** A free port by default. */
  readonly port?: number;
  /** The directory of the data; by default the data is only in memory. */
  readonly dataDir?: string;
  readonly faults?: FaultPlan;
  /** How agents reply; by default as stored in the data directory, or else with an echo. */
  readonly script?: ScriptInput;
  /** The URL that gets every completed message; its secret is by default the one in the data directory, or a new one. */
  readonly webhook?: { readonly url: string; readonly secret?: string };
  /** How long a receiver of webhooks may take to respond, in milliseconds; ten seconds by default. */
  readonly webhookTimeoutMs?: number;
  /** Milliseconds since the epoch; the machine's clock by default. */
  readonly now?: () => number;
}

export interface Sandbox {
  /** `http://127.0.0.1:PORT/v1` */
  readonly baseUrl: string;
  /** `http://127.0.0.1:PORT/_sandbox` */
  readonly adminUrl: string;
  readonly adminKey: string;
  /** The secret of the webhook in the options. */
  readonly webhookSecret: string | undefined;
  /** A warning for each fault rule that matches no request. */
  readonly unmatchedFaults: readonly string[];
  /**
   * Issues a partner token.
   * @param access by default every scope and every caller's address
   * @returns its secret, which is stored nowhere
   * @throws Error for an unknown scope or an invalid address range
   */
  createToken(access?: { scopes?: string[]; allowed_ip_cidrs?: string[] }): Promise<string>;
  /** The token with every scope that a data directory keeps. A deleted one is replaced. */
  defaultToken(): Promise<string>;
  /** Ends every connection, writes pending changes to disk, and releases the data directory. */
  close(): Promise<void>;
}

const HOST = '127.0.0.1';

/** @returns the port that the server listens on */
async function listen(server: Server, port: number): Promise<number> {
  server.listen({ host: HOST, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (cause) {
    const isInUse = hasErrorCode(cause, 'EADDRINUSE');
    throw new Error(`Port ${port} on ${HOST} ${isInUse ? 'is in use' : `cannot be used: ${cause}`}.`, { cause });
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
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
 * @throws Error when the port or the data directory is in use, the data is damaged, or an option is invalid
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, dataDir, now = Date.now } = options;
  const faults = createInjector(checkOption('fault plan', faultPlanSchema, options.faults ?? { rules: [] }));
  const receiver = options.webhook && checkOption('webhook', webhookSchema, options.webhook);
  const script = options.script && checkOption('script', scriptSchema, options.script);

  const store = dataDir === undefined ? createMemoryStore() : await openStore(dataDir);
  // A large upload may take longer than Node's default of five minutes.
  const server = createServer({ requestTimeout: 0 });
  const closing = new AbortController();
  // Every delayed request listens to the signal; Node warns of a leak above ten.
  setMaxListeners(0, closing.signal);
  try {
    const origin = `http://${HOST}:${await listen(server, port)}`;
    const { adminKey } = store.secrets.get() ?? { adminKey: `sbadm_${randomBytes(24).toString('base64url')}` };
    store.secrets.put({ ...store.secrets.get(), adminKey });
    const service: Service = {
      store,
      clock: new Clock(store, now, closing.signal),
      requests: [],
      rates: new Map(),
      faults,
      sending: pLimit(MAX_SENDING),
      webhookTimeoutMs: options.webhookTimeoutMs ?? 10_000,
      origin,
      adminKeyHash: hashSecret(adminKey),
      closing: closing.signal,
    };
    const operations = [spaceOperations, chatOperations, uploadOperations, cronOperations].flatMap((of) => of(service));
    if (script) store.script.put({ rules: script });
    const webhook = receiver && setWebhook(service, receiver);
    // Continue with what was pending when the sandbox last stopped.
    resumeReplies(service);
    resumeDeliveries(service);
    for (const job of store.cronJobs.all()) scheduleJob(service, job);
    const app = createApp(service, operations);
    // The adapter would otherwise replace the global Request and Response of the process.
    const adapter = { overrideGlobalObjects: false, errorHandler: () => new Response('Bad Request', { status: 400 }) };
    server.on(
      'request',
      getRequestListener((request, env) => app.fetch(request, env), adapter),
    );
    const createToken = async (access: unknown = {}): Promise<string> => {
      const { secret } = issueToken(service, checkOption('token', newTokenSchema, access));
      await store.durable();
      return secret;
    };
    let closed: Promise<void> | undefined;
    return {
      baseUrl: `${origin}/v1`,
      adminUrl: `${origin}/_sandbox`,
      adminKey,
      webhookSecret: webhook?.secret,
      unmatchedFaults: describeUnmatched(faults.plan.rules, routesOf(operations)),
      createToken,
      async defaultToken() {
        const kept = store.secrets.get()?.token;
        if (kept !== undefined && store.tokens.in(hashSecret(kept)).length > 0) return kept;
        const token = await createToken();
        store.secrets.put({ adminKey, token });
        await store.durable();
        return token;
      },
      close: () => (closed ??= shutDown(server, closing, store)),
    };
  } catch (error) {
    await shutDown(server, closing, store);
    throw error;
  }
}
