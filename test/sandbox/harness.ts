import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { ChildSandbox } from './process.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON, loosely typed on purpose: a test says what it expects of it. */
  // biome-ignore lint/suspicious/noExplicitAny: the whole point of a test is to find out what is in it
  readonly json: any;
}

export interface Call {
  readonly token?: string;
  readonly body?: unknown;
  /** Sent as it stands, in place of `body`. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Record<string, string>;
}

export async function call(method: string, url: string, { token, body, raw, headers }: Call = {}): Promise<Answer> {
  const sent = raw ?? (body === undefined ? null : JSON.stringify(body));
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(sent === null ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: sent,
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text ? JSON.parse(text) : undefined,
  };
}

export interface Bench {
  readonly sandbox: Sandbox;
  /** A token with every scope. */
  readonly token: string;
  partner(method: string, path: string, more?: Call): Promise<Answer>;
  admin(method: string, path: string, body?: unknown): Promise<Answer>;
}

/** The ways to a sandbox that the test itself ends. */
export function over(sandbox: Sandbox, token: string): Bench {
  return {
    sandbox,
    token,
    partner: (method, path, more = {}) => call(method, `${sandbox.baseUrl}${path}`, { token, ...more }),
    admin: (method, path, body) => call(method, `${sandbox.adminUrl}${path}`, { token: sandbox.adminKey, body }),
  };
}

/** The ways to a sandbox in a process of its own. */
export function overChild(child: ChildSandbox): Bench {
  const refuse = (): Promise<never> => Promise.reject(new Error('A child makes no tokens and is not closed.'));
  return over({ ...child, createToken: refuse, close: refuse }, child.token);
}

/** A sandbox for one test, closed when the test ends. */
export async function bench(options: SandboxOptions = {}): Promise<Bench> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return over(sandbox, await sandbox.createToken());
}

export const PROVISION = '/automation/agent-templates/provision-space/';
export const SPACES = '/automation/spaces/';

/** A body for provisioning that is in order; `more` replaces its top-level fields. */
export function provisioning(externalId: string, more: Record<string, unknown> = {}): Record<string, unknown> {
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
