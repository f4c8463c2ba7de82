import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ObservedExchange } from '../../src/sandbox/observe.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { exchangeCheck } from './exchange-check.ts';
import type { ChildSandbox } from './sandbox-process.ts';

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field of it
  readonly json: any;
}

export interface CallOptions {
  readonly token?: string;
  readonly body?: unknown;
  /** Sent unchanged, instead of `body`. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Record<string, string>;
}

/** Lower-case header names, which replace the default ones. */
function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** @throws TypeError when the connection fails, as `fetch` does */
async function receive(sending: ClientRequest): Promise<{ response: IncomingMessage; text: string }> {
  try {
    const response: IncomingMessage = (await once(sending, 'response'))[0];
    return { response, text: Buffer.concat(await response.toArray()).toString() };
  } catch (cause) {
    throw new TypeError('The connection failed.', { cause });
  }
}

/** Sends a request on its own connection: `fetch` takes three times as long, and tests send many. */
export async function call(
  method: string,
  url: string,
  { token, body, raw, headers }: CallOptions = {},
): Promise<ApiResponse> {
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const sending = request(url, {
    method,
    agent: false,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(sent === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
      ...lowerCased(headers),
    },
  }).end(sent);
  const { response, text } = await receive(sending);
  const received = new Headers();
  for (const [name, values = []] of Object.entries(response.headersDistinct))
    for (const value of values) received.append(name, value);
  const isJson = received.get('content-type')?.startsWith('application/json') ?? false;
  return {
    status: response.statusCode ?? 0,
    headers: received,
    text,
    json: isJson && text ? JSON.parse(text) : undefined,
  };
}

export interface TestSandbox {
  readonly sandbox: Sandbox;
  /** A token with every scope. */
  readonly token: string;
  /** Calls the service in its own shape, whatever the shape of the sandbox. */
  partner(method: string, path: string, more?: CallOptions): Promise<ApiResponse>;
  admin(method: string, path: string, body?: unknown): Promise<ApiResponse>;
}

/** A client for a sandbox that the test itself closes. @param shape the shape in which the sandbox responds to others */
export function connectTo(sandbox: Sandbox, token: string, shape?: string): TestSandbox {
  const plain = shape === undefined ? {} : { 'sandbox-shape': 'plain' };
  return {
    sandbox,
    token,
    partner: (method, path, { headers, ...more } = {}) =>
      call(method, `${sandbox.baseUrl}${path}`, { token, headers: { ...plain, ...headers }, ...more }),
    admin: (method, path, body) => call(method, `${sandbox.adminUrl}${path}`, { token: sandbox.adminKey, body }),
  };
}

/** A client for a sandbox in another process. */
export function connectToChild(child: ChildSandbox): TestSandbox {
  const refuse = (): Promise<never> => Promise.reject(new Error('Not available for a sandbox in another process.'));
  return connectTo(
    {
      ...child,
      webhookSecrets: [],
      createToken: refuse,
      defaultToken: refuse,
      unmatchedFaults: [],
      close: refuse,
    },
    child.token,
  );
}

/**
 * Starts a sandbox that is closed when the test ends. The test fails if a request or a response does not fit the service's
 * document.
 */
export async function startTestSandbox(options: SandboxOptions = {}): Promise<TestSandbox> {
  const check = exchangeCheck(options.shape);
  const violations: string[] = [];
  const onExchange = (exchange: ObservedExchange): void => {
    const { method, path } = exchange.request;
    for (const violation of check(exchange)) violations.push(`${method} ${path} ${exchange.status}: ${violation}`);
  };
  const sandbox = await startSandbox({ ...options, onExchange });
  onTestFinished(async () => {
    await sandbox.close();
    if (violations.length > 0) throw new Error(`Not as documented:\n${[...new Set(violations)].join('\n')}`);
  });
  return connectTo(sandbox, await sandbox.createToken(), options.shape);
}

export const PROVISION = '/automation/agent-templates/provision-space/';
export const SPACES = '/automation/spaces/';

/** A valid body for provisioning; `more` replaces top-level fields. */
export function provisionBody(externalId: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    external_space_id: externalId,
    space: { name: 'Acme', description: 'Support for Acme', is_org_wide: false },
    agents: [
      {
        template_id: 'tmpl_support',
        name: 'Support',
        auto_create_api_chat: true,
        api_chat_routing_mode: 'session_workflow',
      },
    ],
    ...more,
  };
}

/** A bare connection to a sandbox. */
export interface RawConnection {
  readonly socket: Socket;
  /** Everything that was received, and how the connection ended: `ended`, `closed`, or the code of the error. */
  readonly whole: Promise<{ text: string; end: string }>;
  /** The first chunk that is received. */
  first(): Promise<string>;
}

/** Opens a connection that is closed when the test ends, and writes to it. */
export function openConnection({ sandbox }: Pick<TestSandbox, 'sandbox'>, request: string): RawConnection {
  const { hostname, port } = new URL(sandbox.baseUrl);
  const socket = connect(Number(port), hostname);
  let text = '';
  let end = 'closed';
  socket.on('data', (data) => {
    text += data;
  });
  socket.on('end', () => {
    end = 'ended';
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    end = error.code ?? 'error';
  });
  const whole = new Promise<{ text: string; end: string }>((resolve) => {
    socket.on('close', () => resolve({ text, end }));
  });
  onTestFinished(() => void socket.destroy());
  socket.write(request);
  const first = (): Promise<string> =>
    text ? Promise.resolve(text) : new Promise((resolve) => socket.once('data', (data) => resolve(String(data))));
  return { socket, whole, first };
}
