import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';

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

/** A sandbox for one test, closed when the test ends. */
export async function bench(options: SandboxOptions = {}): Promise<Bench> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  const token = await sandbox.createToken();
  return {
    sandbox,
    token,
    partner: (method, path, more = {}) => call(method, `${sandbox.baseUrl}${path}`, { token, ...more }),
    admin: (method, path, body) => call(method, `${sandbox.adminUrl}${path}`, { token: sandbox.adminKey, body }),
  };
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

/** A clock that stands still until it is told to go on, and the timers that hang on it. */
export function manualClock(start = Date.UTC(2026, 0, 1)) {
  let now = start;
  let timers: { at: number; task: () => void }[] = [];
  return {
    now: () => now,
    schedule: (task: () => void, ms: number): void => {
      timers.push({ at: now + ms, task });
    },
    /** Lets time pass; what falls due runs at its own moment. */
    advance: (ms: number): void => {
      const end = now + ms;
      for (;;) {
        const next = timers.toSorted((one, other) => one.at - other.at).find(({ at }) => at <= end);
        if (!next) break;
        timers = timers.filter((timer) => timer !== next);
        now = Math.max(now, next.at);
        next.task();
      }
      now = end;
    },
  };
}

export const MESSAGE = '/integrations/api-chat/message/';
export const HISTORY = '/integrations/api-chat/history/';

export interface Entry {
  readonly message_id: string;
  readonly source_id: string;
  readonly session_id: string;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly external_message_id: string | null;
  readonly in_reply_to: string | null;
  readonly created_at: string;
}

export interface Chat {
  readonly space_id: string;
  readonly agent_id: string;
  readonly source_id: string;
  /** Sends a text to a session, under a fresh external id where none is given. */
  send(text: string, more?: Record<string, unknown>): Promise<Answer>;
  /** One page of a session's history. */
  page(query?: Record<string, string>, token?: string): Promise<Answer>;
  /** All pages of a session's history. */
  history(query?: Record<string, string>): Promise<Entry[]>;
}

/** An agent with an API chat source, and the ways to talk to it; the session is `s1` where none is named. */
export async function chatOn(
  { partner, token }: Bench,
  mode: 'agent_inbox' | 'session_workflow' = 'session_workflow',
  agent: Record<string, unknown> = {},
): Promise<Chat> {
  const agents = [
    { template_id: 'tmpl_support', name: 'Support', auto_create_api_chat: true, api_chat_routing_mode: mode, ...agent },
  ];
  const { json } = await partner('POST', PROVISION, { body: provisioning(`space-${mode}-${agent.name}`, { agents }) });
  const { agent_id, integrations } = json.agents[0];
  const { source_id } = integrations.api_chat ?? {};
  let sent = 0;
  const chat: Chat = {
    space_id: json.space.space_id,
    agent_id,
    source_id,
    send: (text, more = {}) => {
      sent += 1;
      const body = { source_id, session_id: 's1', text, external_message_id: `e${sent}`, ...more };
      return partner('POST', MESSAGE, { body });
    },
    page: (query = {}, as = token) => {
      const parameters = new URLSearchParams({ source_id, session_id: 's1', ...query });
      return partner('GET', `${HISTORY}?${parameters}`, { token: as });
    },
    history: async (query = {}) => {
      const entries: Entry[] = [];
      let { json: page } = await chat.page(query);
      for (;;) {
        entries.push(...page.results);
        if (page.next === null) return entries;
        page = (await call('GET', page.next, { token })).json;
      }
    },
  };
  return chat;
}
