import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts';
import { tempDirectory } from './run.ts';

/* The service: a real sandbox, a client for it, and what tests provision there. */

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field of it
  readonly json: any;
}

interface CallOptions {
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

type Addresses = Pick<Sandbox, 'baseUrl' | 'adminUrl' | 'adminKey' | 'token'>;

export interface TestSandbox<At = Sandbox> {
  readonly sandbox: At;
  /** A token with every scope. */
  readonly token: string;
  partner(method: string, path: string, more?: CallOptions): Promise<ApiResponse>;
  admin(method: string, path: string, body?: unknown): Promise<ApiResponse>;
  /** Issues another token. */
  createToken(access: { scopes?: readonly string[]; allowed_ip_cidrs?: readonly string[] }): Promise<string>;
}

/** A client for a sandbox that the test itself ends. */
export function connectTo<At extends Addresses>(sandbox: At): TestSandbox<At> {
  const { token, baseUrl, adminUrl, adminKey } = sandbox;
  const admin: TestSandbox['admin'] = (method, path, body) =>
    call(method, `${adminUrl}${path}`, { token: adminKey, body });
  return {
    sandbox,
    token,
    partner: (method, path, more) => call(method, `${baseUrl}${path}`, { token, ...more }),
    admin,
    createToken: async (access) => (await admin('POST', '/tokens', access)).json.token,
  };
}

/** Starts a sandbox that is closed when the test ends. */
export async function startTestSandbox(options: SandboxOptions = {}): Promise<TestSandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return connectTo(sandbox);
}

/** A client for a sandbox, wherever it runs. */
export type SandboxClient = TestSandbox<Addresses>;

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

/** One partner request as the sandbox saw it. */
interface Received {
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  readonly fault: string | null;
  readonly body: unknown;
}

interface ListedSpace {
  readonly space_id: string;
  readonly external_space_id: string;
  readonly name: string;
}

interface ListedAgent {
  readonly agent_id: string;
  readonly name: string;
  readonly template_id: string;
}

export interface Service extends TestSandbox {
  /** The environment of a command that uses it: URL, token, and a separate home. */
  readonly env: Record<string, string>;
  /** All requests received since the start or the last `forget`. */
  received(): Promise<readonly Received[]>;
  /** The writes among them. */
  posts(): Promise<readonly Received[]>;
  /** Clears the requests received so far. */
  forget(): Promise<void>;
  set(settings: Record<string, unknown>): Promise<void>;
  faults(...rules: object[]): Promise<void>;
  spaces(): Promise<readonly ListedSpace[]>;
  agents(spaceId: string): Promise<readonly ListedAgent[]>;
  /** Creates an environment with a token that has only these scopes. */
  envFor(scopes: readonly string[]): Promise<Record<string, string>>;
}

/** A service for one test: a real sandbox, and the environment to reach it. */
export async function service(options: SandboxOptions = {}): Promise<Service> {
  const opened = await startTestSandbox(options);
  const { sandbox, token, admin, partner } = opened;
  const env = { PARTNER_BASE_URL: sandbox.baseUrl, PARTNER_TOKEN: token, HOME: tempDirectory() };
  const received = async (): Promise<readonly Received[]> => (await admin('GET', '/requests')).json.requests;
  const ensure = async (answer: Promise<{ status: number; text: string }>): Promise<void> => {
    const { status, text } = await answer;
    if (status >= 300) throw new Error(`The sandbox refused: ${status} ${text}`);
  };
  return {
    ...opened,
    env,
    received,
    posts: async () => (await received()).filter(({ method }) => method !== 'GET'),
    forget: () => ensure(admin('DELETE', '/requests')),
    set: (settings) => ensure(admin('PATCH', '/settings', settings)),
    faults: (...rules) => ensure(admin('PUT', '/faults', { rules })),
    spaces: async () => (await partner('GET', '/automation/spaces/?page_size=1000')).json.results,
    agents: async (spaceId) =>
      (await partner('GET', `/automation/spaces/${spaceId}/agents/?page_size=1000`)).json.results,
    envFor: async (scopes) => ({ ...env, PARTNER_TOKEN: await opened.createToken({ scopes }) }),
  };
}

/** A valid manifest document. */
export function manifest(externalId: string, agents: readonly string[] = ['Support']): string {
  const installed = agents.map((name) => `  - { template_id: tmpl_support, name: ${JSON.stringify(name)} }`);
  return `external_space_id: ${externalId}\nspace: { name: ${JSON.stringify(`Space ${externalId}`)} }\nagents:\n${installed.join('\n')}\n`;
}

/** Writes a file into a directory of this test and returns its path. */
export function write(name: string, text: string | Uint8Array, directory = tempDirectory()): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}
