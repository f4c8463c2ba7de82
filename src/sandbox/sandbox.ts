import { once, setMaxListeners } from 'node:events';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type * as v from 'valibot';
import { answerUnroutable, buildApp } from './app.ts';
import { AgentRunner } from './chat/runner.ts';
import { type Script, scriptSchema } from './chat/script.ts';
import { CronRunner } from './cron/runner.ts';
import { FaultDice, type FaultPlan, faultPlanSchema, settle } from './faults.ts';
import { RateLimiter } from './rate-limit.ts';
import { RequestLog } from './request-log.ts';
import type { Service } from './service.ts';
import { check } from './shapes.ts';
import { keptAdminKey, makeAdminKey } from './store/admin-key.ts';
import { openStore } from './store/open.ts';
import { memoryStore } from './store/store.ts';
import { type Schedule, scheduleInProcess } from './time/schedule.ts';
import { Timeline } from './time/timeline.ts';
import { hashSecret, issueToken, newTokenSchema } from './tokens.ts';

export type { Script } from './chat/script.ts';
export type { FaultPlan } from './faults.ts';

export interface SandboxOptions {
  /** Loopback only; 127.0.0.1 by default. */
  readonly host?: '127.0.0.1' | '::1';
  /** A free port by default. */
  readonly port?: number;
  /** Where the data is kept; in memory alone by default. */
  readonly dataDir?: string;
  /** Drawn by default; with a data directory it is drawn once and kept there. */
  readonly adminKey?: string;
  readonly faults?: FaultPlan;
  /** How agents answer; by default as they did last with this data directory, and at first by echo. */
  readonly script?: Script;
  /** Milliseconds since the epoch; the machine's clock by default. */
  readonly now?: () => number;
  /** From 0 up to 1; `Math.random` by default. */
  readonly random?: () => number;
  /** Wakes the service when something is due by `now`; the machine's timers by default. */
  readonly schedule?: Schedule;
}

export interface Sandbox {
  /** `http://127.0.0.1:PORT/v1` */
  readonly baseUrl: string;
  /** `http://127.0.0.1:PORT/_sandbox` */
  readonly adminUrl: string;
  readonly adminKey: string;
  /**
   * Makes a partner token and gives its secret, which is kept nowhere.
   * @param options every scope and every caller's address by default.
   * @throws Error for a scope that there is not, or an address range that is none.
   */
  createToken(options?: { scopes?: string[]; allowed_ip_cidrs?: string[] }): Promise<string>;
  /** Ends every connection, writes what is left to write, and frees the data directory. */
  close(): Promise<void>;
}

const LOOPBACK = ['127.0.0.1', '::1'];

function checked<Schema extends v.GenericSchema>(what: string, schema: Schema, value: unknown): v.InferOutput<Schema> {
  const result = check(schema, value);
  if (result.ok) return result.value;
  throw new Error(
    `The ${what} is not valid: ${result.fields.map(({ path, message }) => `${path} ${message}`).join('; ')}.`,
  );
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (cause) {
    const inUse = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      inUse ? `Port ${port} on ${host} is in use.` : `Cannot listen on ${host}, port ${port}: ${reason}.`,
      {
        cause,
      },
    );
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

/**
 * Starts the Partner Automation API on this machine: a real HTTP server on a loopback address, with an admin surface
 * beside it (`/_sandbox`) that makes tokens, changes settings, injects faults and shows what was received.
 * @throws Error when the port or the data directory is in use, the data is damaged, or an option is not valid.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { host = '127.0.0.1', port = 0, dataDir, now = Date.now, random = Math.random } = options;
  const { schedule = scheduleInProcess } = options;
  if (!LOOPBACK.includes(host))
    throw new Error(`The sandbox listens on ${LOOPBACK.join(' or ')} only, not on ${host}.`);
  const faults = new FaultDice(settle(checked('fault plan', faultPlanSchema, options.faults ?? { rules: [] }), random));
  const script = options.script === undefined ? undefined : checked('script', scriptSchema, options.script);

  const store = dataDir === undefined ? memoryStore() : await openStore(dataDir);
  // A large body may take longer than the five minutes that are allowed otherwise.
  const server = createServer({ requestTimeout: 0 });
  const closing = new AbortController();
  // Every request that is delayed listens to it; Node takes more than ten for a leak and says so.
  setMaxListeners(0, closing.signal);
  try {
    const adminKey = options.adminKey ?? (dataDir === undefined ? makeAdminKey() : await keptAdminKey(dataDir));
    const origin = `http://${host === '::1' ? '[::1]' : host}:${await listen(server, host, port)}`;
    if (script) store.commit({ kind: 'script', script });
    const timeline = new Timeline({ store, machine: now, schedule, closing: closing.signal });
    const runner = new AgentRunner({ store, timeline });
    const cron = new CronRunner({ store, timeline, runner });
    const service: Service = {
      store,
      timeline,
      runner,
      cron,
      log: new RequestLog(),
      limiter: new RateLimiter(),
      faults,
      origin,
      adminKeyHash: hashSecret(adminKey),
      now: () => timeline.now(),
      random,
      closing: closing.signal,
    };
    // The adapter would otherwise replace the global Request and Response of whoever embeds the sandbox.
    const adapter = { overrideGlobalObjects: false, errorHandler: answerUnroutable };
    server.on('request', getRequestListener(buildApp(service).fetch, adapter));
    runner.resume();
    cron.resume();
    const shutDown = async (): Promise<void> => {
      closing.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      await store.close();
    };
    let closed: Promise<void> | undefined;
    return {
      baseUrl: `${origin}/v1`,
      adminUrl: `${origin}/_sandbox`,
      adminKey,
      createToken: async (wanted = {}) => {
        const { secret } = issueToken(service, checked('token', newTokenSchema, wanted));
        await store.durable();
        return secret;
      },
      close: () => {
        closed ??= shutDown();
        return closed;
      },
    };
  } catch (error) {
    server.close();
    await store.close();
    throw error;
  }
}
