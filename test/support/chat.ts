import { type ApiResponse, call, PROVISION, provisionBody, type SandboxClient } from './service.ts';

/* API chat: the source of an agent, the messages sent to it, and their history. */

export const MESSAGE = '/integrations/api-chat/message/';
export const HISTORY = '/integrations/api-chat/history/';

export interface HistoryEntry {
  readonly message_id: string;
  readonly source_id: string;
  readonly session_id: string;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly external_message_id: string | null;
  readonly created_at: string;
}

export type RoutingMode = 'agent_inbox' | 'session_workflow';

export interface Chat {
  readonly space_id: string;
  readonly agent_id: string;
  readonly source_id: string;
  /** Sends a text with a fresh external id; `more` replaces fields of the body. */
  send(text: string, more?: Record<string, unknown>): Promise<ApiResponse>;
  /** One page of a session's history. */
  page(query?: Record<string, string>, token?: string): Promise<ApiResponse>;
  /** All pages of a session's history. */
  history(query?: Record<string, string>): Promise<HistoryEntry[]>;
}

/** Provisions an agent with an API chat source, and returns a client for it. The default session is `s1`. */
export async function createChat(
  { partner, token }: SandboxClient,
  mode: RoutingMode = 'session_workflow',
  agent: Record<string, unknown> = {},
): Promise<Chat> {
  const agents = [
    { template_id: 'tmpl_support', name: 'Support', auto_create_api_chat: true, api_chat_routing_mode: mode, ...agent },
  ];
  const { json } = await partner('POST', PROVISION, { body: provisionBody(`space-${mode}-${agent.name}`, { agents }) });
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
      const entries: HistoryEntry[] = [];
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
