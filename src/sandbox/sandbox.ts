import { once, setMaxListeners } from 'node:events';
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { getRequestListener, type Http2Bindings, type HttpBindings } from '@hono/node-server';
import { AgentRunner } from './agents/agent-runner.ts';
import { CronRunner } from './agents/cron-runner.ts';
import { type Script, scriptSchema } from './agents/reply-script.ts';
import { createApp, partnerRoutes, unroutableResponse } from './app.ts';
import { describeUnmatched, FaultInjector, type FaultPlan, faultPlanSchema } from './faults.ts';
import { type ObservedExchange, observe } from './observe.ts';
import { RateLimiter } from './rate-limit.ts';
import type { Bundle } from './replay/bundle.ts';
import { RequestLog } from './request-log.ts';
import { Scheduler, type SetTimer, setProcessTimer } from './scheduler.ts';
import type { Bindings, Service } from './service.ts';
import { createEdge, type Fetch } from './shapes/edge.ts';
import type { Shape } from './shapes/shape.ts';
import { findShape, PLAIN } from './shapes/shapes.ts';
import { createAdminKey, loadAdminKey, loadToken, saveToken } from './store/data-directory.ts';
import { createMemoryStore, openStore, type Store } from './store/store.ts';
import { hashSecret, issueToken, newTokenSchema } from './tokens.ts';
import { parseOrThrow } from './validation.ts';
import { WebhookDispatcher } from './webhooks/dispatcher.ts';
import { setGeneralWebhook } from './webhooks/webhook.ts';

export type { Script } from './agents/reply-script.ts';
export type { FaultPlan } from './faults.ts';

export interface SandboxOptions {
  /** Only loopback; 127.0.0.1 by default. */
  readonly host?: '127.0.0.1' | '::1';
  /** A free port by default. */
  readonly port?: number;
  /** The directory of the data; by default the data is only in memory. */
  readonly dataDir?: string;
  /** Random by default; with a data directory it is stored there and stays the same. */
  readonly adminKey?: string;
  readonly faults?: FaultPlan;
  /** The name of the shape; `plain` by default. */
  readonly shape?: string;
  /** Recorded responses to send in place of the service. */
  readonly replay?: Bundle;
  /** How agents reply; by default as stored in the data directory, or else with an echo. */
  readonly script?: Script;
  /** Milliseconds since the epoch; the machine's clock by default. */
  readonly now?: () => number;
  /** Called for every partner request that got a response. */
  readonly onExchange?: (exchange: ObservedExchange) => void;
  /** From 0 up to 1; `Math.random` by default. */
  readonly random?: () => number;
  /**
   * How long a client may take to send the headers of a request, or pause within its body, before it is disconnected. In
   * milliseconds; a minute by default.
   */
  readonly clientTimeoutMs?: number;
  /**
   * A webhook for every source. Replaces the one of an earlier start. Each secret adds a signature; by default the secrets
   * in the data directory, or a new one.
   */
  readonly webhook?: { readonly url: string; readonly secrets?: readonly string[] };
  /** How long a receiver of webhooks may take to respond, in milliseconds; ten seconds by default. */
  readonly webhookTimeoutMs?: number;
  /** Wakes the scheduler when a task is due; the machine's timers by default. */
  readonly setTimer?: SetTimer;
}

export interface Sandbox {
  /** `http://127.0.0.1:PORT/v1` */
  readonly baseUrl: string;
  /** `http://127.0.0.1:PORT/_sandbox` */
  readonly adminUrl: string;
  readonly adminKey: string;
  /** The secrets of the webhook in the options. */
  readonly webhookSecrets: readonly string[];
  /**
   * Issues a partner token.
   * @param options by default every scope and every caller's address
   * @returns its secret, which is stored nowhere
   * @throws Error for an unknown scope or an invalid address range
   */
  createToken(options?: { scopes?: string[]; allowed_ip_cidrs?: string[] }): Promise<string>;
  /**
   * Returns the secret of a token with every scope. A data directory keeps it, and the next start returns the same one
   * unless it was deleted meanwhile.
   */
  defaultToken(): Promise<string>;
  /** A warning for each fault rule that matches no request. */
  readonly unmatchedFaults: readonly string[];
  /** Ends every connection, writes pending changes to disk, and releases the data directory. */
  close(): Promise<void>;
}

const LOOPBACK = ['127.0.0.1', '::1'];

/** @returns the port that the server listens on */
async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (cause) {
    const isInUse = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = isInUse
      ? `Port ${port} on ${host} is in use.`
      : `Cannot listen on ${host}, port ${port}: ${reason}.`;
    throw new Error(message, { cause });
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

/** The parts that `createService` puts together. */
interface ServiceParts
  extends Required<
    Pick<SandboxOptions, 'adminKey' | 'now' | 'random' | 'setTimer' | 'clientTimeoutMs' | 'webhookTimeoutMs'>
  > {
  readonly store: Store;
  readonly faults: FaultInjector;
  readonly shape: Shape;
  readonly replay: Bundle | undefined;
  readonly origin: string;
  readonly closing: AbortSignal;
}

function createService({ adminKey, now, setTimer, webhookTimeoutMs, ...parts }: ServiceParts): Service {
  const { store, shape, random, closing } = parts;
  const scheduler = new Scheduler({ store, machineNow: now, setTimer, closing });
  const delivering = { machineNow: now, random, shape, closing, attemptTimeoutMs: webhookTimeoutMs };
  const webhooks = new WebhookDispatcher({ store, scheduler, ...delivering });
  const agents = new AgentRunner({ store, scheduler, commit: (...changes) => webhooks.commit(...changes) });
  const cron = new CronRunner({ store, scheduler, agents });
  const adminKeyHash = hashSecret(adminKey);
  return {
    ...parts,
    scheduler,
    agents,
    cron,
    webhooks,
    log: new RequestLog(),
    limiter: new RateLimiter(),
    adminKeyHash,
  };
}

/** The bindings from the adapter: always HTTP/1, because the server supports nothing else. */
function toBindings({ incoming, outgoing }: HttpBindings | Http2Bindings): Bindings {
  if (incoming instanceof IncomingMessage && outgoing instanceof ServerResponse) {
    return { incoming, outgoing, logged: {} };
  }
  throw new Error('The sandbox speaks HTTP/1 only.');
}

/** @throws Error for an unknown name */
function requireShape(name: string): Shape {
  const shape = findShape(name);
  if (!shape) throw new Error(`There is no shape ${JSON.stringify(name)}.`);
  return shape;
}

/** Creates the functions that issue tokens. @param dataDir the directory that keeps the default token */
function createTokens(service: Service, dataDir: string | undefined): Pick<Sandbox, 'createToken' | 'defaultToken'> {
  const { store } = service;
  const createToken: Sandbox['createToken'] = async (options = {}) => {
    const { secret } = issueToken(service, parseOrThrow('token', newTokenSchema, options));
    await store.durable();
    return secret;
  };
  return {
    createToken,
    async defaultToken() {
      if (dataDir === undefined) return createToken();
      const stored = await loadToken(dataDir);
      if (stored !== undefined && store.world.findToken(hashSecret(stored))) return stored;
      const created = await createToken();
      await saveToken(dataDir, created);
      return created;
    },
  };
}

/** Ends every request in progress without a response. */
async function shutDown(server: Server, closing: AbortController, store: Store): Promise<void> {
  closing.abort();
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
  await store.close();
}

/**
 * Starts the Partner Automation API on this machine: a real HTTP server on a loopback address, with an admin API
 * (`/_sandbox`) that issues tokens, changes settings, injects faults, and shows what was received.
 * @throws Error when the port or the data directory is in use, the data is damaged, or an option is invalid
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { host = '127.0.0.1', port = 0, dataDir, now = Date.now, random = Math.random } = options;
  const { clientTimeoutMs = 60_000, webhookTimeoutMs = 10_000, setTimer = setProcessTimer } = options;
  if (!LOOPBACK.includes(host))
    throw new Error(`The sandbox listens on ${LOOPBACK.join(' or ')} only, not on ${host}.`);
  const faults = new FaultInjector(
    parseOrThrow('fault plan', faultPlanSchema, options.faults ?? { rules: [] }),
    random,
  );
  const shape = requireShape(options.shape ?? PLAIN.name);
  const script = options.script && parseOrThrow('script', scriptSchema, options.script);

  const store = dataDir === undefined ? createMemoryStore() : await openStore(dataDir);
  const server = createServer({
    // A large upload may take longer than Node's default of five minutes; `readBody` and `receiveForm` limit its pauses.
    requestTimeout: 0,
    // Its default is the value of `requestTimeout`: unlimited.
    headersTimeout: clientTimeoutMs,
    connectionsCheckingInterval: Math.min(clientTimeoutMs, 5_000),
  });
  const closing = new AbortController();
  // Every delayed request listens to the signal; Node warns of a leak above ten.
  setMaxListeners(0, closing.signal);
  try {
    const adminKey = options.adminKey ?? (dataDir === undefined ? createAdminKey() : await loadAdminKey(dataDir));
    const origin = `http://${host === '::1' ? '[::1]' : host}:${await listen(server, host, port)}`;
    if (script) store.commit({ kind: 'script', script });
    const clocks = { now, setTimer, clientTimeoutMs, webhookTimeoutMs };
    const service = createService({
      store,
      faults,
      shape,
      replay: options.replay,
      origin,
      adminKey,
      random,
      ...clocks,
      closing: closing.signal,
    });
    // By default the adapter replaces the global Request and Response of the embedding process.
    const adapter = { overrideGlobalObjects: false, errorHandler: unroutableResponse };
    const app = createApp(service);
    const fetchPlain: Fetch = (request, env) => app.fetch(request, env);
    const fetchShaped = shape === PLAIN ? fetchPlain : createEdge(service, shape, fetchPlain);
    const { onExchange } = options;
    const fetch = onExchange ? observe(fetchShaped, onExchange) : fetchShaped;
    server.on(
      'request',
      getRequestListener((request, env) => fetch(request, toBindings(env)), adapter),
    );
    const webhookSecrets = options.webhook ? setGeneralWebhook(service, options.webhook) : [];
    service.agents.resume();
    service.cron.resume();
    service.webhooks.resume();
    let closed: Promise<void> | undefined;
    return {
      baseUrl: `${origin}/v1`,
      adminUrl: `${origin}/_sandbox`,
      adminKey,
      webhookSecrets,
      ...createTokens(service, dataDir),
      unmatchedFaults: describeUnmatched(faults.plan.rules, partnerRoutes(app)),
      close: () => {
        closed ??= shutDown(server, closing, store);
        return closed;
      },
    };
  } catch (error) {
    server.close();
    await store.close();
    throw error;
  }
}
