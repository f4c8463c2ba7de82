import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts';
import { start, until } from './program.ts';

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

type Addresses = Pick<Sandbox, 'baseUrl' | 'adminUrl' | 'adminKey'>;

export interface TestSandbox<At = Sandbox> {
  readonly sandbox: At;
  /** A token with every scope. */
  readonly token: string;
  partner(method: string, path: string, more?: CallOptions): Promise<ApiResponse>;
  admin(method: string, path: string, body?: unknown): Promise<ApiResponse>;
}

/** A client for a sandbox that the test itself ends. */
export function connectTo<At extends Addresses>(sandbox: At, token: string): TestSandbox<At> {
  return {
    sandbox,
    token,
    partner: (method, path, more) => call(method, `${sandbox.baseUrl}${path}`, { token, ...more }),
    admin: (method, path, body) => call(method, `${sandbox.adminUrl}${path}`, { token: sandbox.adminKey, body }),
  };
}

/** Starts a sandbox that is closed when the test ends. */
export async function startTestSandbox(options: SandboxOptions = {}): Promise<TestSandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return connectTo(sandbox, await sandbox.createToken());
}

/** A client for a sandbox, wherever it runs. */
export type SandboxClient = TestSandbox<Addresses>;

/** A sandbox in a process of its own. */
interface ChildSandbox extends SandboxClient {
  readonly pid: number;
  /** Ends the process with SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
}

/** Starts `sandbox start --data` as a process, which is killed when the test ends. */
export async function startChildSandbox(dataDir: string): Promise<ChildSandbox> {
  const child = start(['sandbox', 'start', '-o', 'json', '--data', dataDir]);
  const { base_url, admin_url, admin_key, token } = JSON.parse(await until(child.stdout, /\n/));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await child;
  };
  return {
    ...connectTo({ baseUrl: base_url, adminUrl: admin_url, adminKey: admin_key }, token),
    pid: child.pid ?? 0,
    kill,
  };
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
export function openConnection({ sandbox }: Pick<SandboxClient, 'sandbox'>, request: string): RawConnection {
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
