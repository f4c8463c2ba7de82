import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts';
import { tempDirectory } from './run.ts';

/* The service: a real sandbox, a client for it, and what tests provision there. */

export interface ApiResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
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
  /** With lower-case names, which replace the default ones. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request on its own connection: `fetch` takes three times as long, and tests send many. */
export async function call(
  method: string,
  url: string,
  { token, body, raw, headers: more }: CallOptions = {},
): Promise<ApiResponse> {
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const type = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent ?? '') };
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(sent !== undefined && type),
    ...more,
  };
  const sending = request(url, { method, agent: false, headers }).end(sent);
  const response: IncomingMessage = (await once(sending, 'response'))[0];
  const text = Buffer.concat(await response.toArray()).toString();
  const isJson = response.headers['content-type']?.startsWith('application/json') && text !== '';
  const json = isJson ? JSON.parse(text) : undefined;
  return { status: response.statusCode ?? 0, headers: response.headers, text, json };
}

type Addresses = Pick<Sandbox, 'baseUrl' | 'adminUrl' | 'adminKey' | 'token'>;

/** A client for a sandbox that the test itself ends. */
export function connectTo<At extends Addresses>(sandbox: At) {
  const { token, baseUrl, adminUrl, adminKey } = sandbox;
  const admin = (method: string, path: string, body?: unknown) =>
    call(method, `${adminUrl}${path}`, { token: adminKey, body });
  return {
    sandbox,
    /** A token with every scope. */
    token,
    partner: (method: string, path: string, more?: CallOptions) =>
      call(method, `${baseUrl}${path}`, { token, ...more }),
    admin,
    /** Issues another token. */
    createToken: async (access: Record<string, readonly string[]>): Promise<string> =>
      (await admin('POST', '/tokens', access)).json.token,
  };
}

export type TestSandbox = ReturnType<typeof connectTo<Sandbox>>;

/** A client for a sandbox, wherever it runs. */
export type SandboxClient = ReturnType<typeof connectTo<Addresses>>;

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

type Texts<Names extends string> = Readonly<Record<Names, string>>;

export type Service = Awaited<ReturnType<typeof service>>;

/** A service for one test: a real sandbox, and the environment to reach it. */
export async function service(options: SandboxOptions = {}) {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  const opened = connectTo(sandbox);
  const { token, admin, partner, createToken } = opened;
  /** The environment of a command that uses it: URL, token, and a separate home. */
  const env: Record<string, string> = {
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_TOKEN: token,
    HOME: tempDirectory(),
  };
  /** All requests received since the start or the last `forget`. */
  const received = async (): Promise<readonly Received[]> => (await admin('GET', '/requests')).json.requests;
  const ensure = async (answer: Promise<ApiResponse>): Promise<void> => {
    const { status, text } = await answer;
    if (status >= 300) throw new Error(`The sandbox refused: ${status} ${text}`);
  };
  return {
    ...opened,
    env,
    received,
    /** The writes among them. */
    posts: async () => (await received()).filter(({ method }) => method !== 'GET'),
    /** Clears the requests received so far. */
    forget: () => ensure(admin('DELETE', '/requests')),
    set: (settings: Record<string, unknown>) => ensure(admin('PATCH', '/settings', settings)),
    faults: (...rules: object[]) => ensure(admin('PUT', '/faults', { rules })),
    spaces: async (): Promise<readonly Texts<'space_id' | 'external_space_id' | 'name'>[]> =>
      (await partner('GET', `${SPACES}?page_size=1000`)).json.results,
    agents: async (spaceId: string): Promise<readonly Texts<'agent_id' | 'name' | 'template_id'>[]> =>
      (await partner('GET', `${SPACES}${spaceId}/agents/?page_size=1000`)).json.results,
    /** Creates an environment with a token that has only these scopes. */
    envFor: async (scopes: readonly string[]) => ({ ...env, PARTNER_TOKEN: await createToken({ scopes }) }),
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
