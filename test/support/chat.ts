import type { Message } from '../../src/contract/messages.ts';
import { type ApiResponse, call, PROVISION, provisionBody, type SandboxClient } from './service.ts';

/* API chat: the source of an agent, the messages sent to it, and their history. */

export const MESSAGE = '/integrations/api-chat/message/';
export const HISTORY = '/integrations/api-chat/history/';

interface HistoryEntry {
  readonly message_id: string;
  readonly source_id: string;
  readonly session_id: string;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly external_message_id: string | null;
  readonly created_at: string;
}

export type Chat = Awaited<ReturnType<typeof createChat>>;

/** Provisions an agent with an API chat source, and returns a client for it. The default session is `s1`. */
export async function createChat(
  { partner, token }: SandboxClient,
  mode: 'agent_inbox' | 'session_workflow' = 'session_workflow',
  agent: Record<string, unknown> = {},
) {
  const agents = [
    { template_id: 'tmpl_support', name: 'Support', auto_create_api_chat: true, api_chat_routing_mode: mode, ...agent },
  ];
  const { json } = await partner('POST', PROVISION, { body: provisionBody(`space-${mode}-${agent.name}`, { agents }) });
  const [{ agent_id, integrations }]: [{ agent_id: string; integrations: { api_chat?: { source_id: string } } }] =
    json.agents;
  const source_id = integrations.api_chat?.source_id ?? '';
  const space_id: string = json.space.space_id;
  let sent = 0;
  /** One page of a session's history. */
  const page = (query: Record<string, string> = {}, as = token): Promise<ApiResponse> =>
    partner('GET', `${HISTORY}?${new URLSearchParams({ source_id, session_id: 's1', ...query })}`, { token: as });
  return {
    space_id,
    agent_id,
    source_id,
    page,
    /** Sends a text with a fresh external id; `more` replaces fields of the body. */
    send(text: string, more: Record<string, unknown> = {}): Promise<ApiResponse> {
      sent += 1;
      const body = { source_id, session_id: 's1', text, external_message_id: `e${sent}`, ...more };
      return partner('POST', MESSAGE, { body });
    },
    /** All pages of a session's history. */
    async history(query: Record<string, string> = {}): Promise<HistoryEntry[]> {
      const entries: HistoryEntry[] = [];
      for (let { json: each } = await page(query); ; each = (await call('GET', each.next, { token })).json) {
        entries.push(...each.results);
        if (each.next === null) return entries;
      }
    },
  };
}

/** A line that `chat tail -o json` wrote. */
interface Line {
  readonly message_id: string;
  readonly session_id: string;
  readonly text: string;
  readonly role: string;
}

/** Parses the complete lines of an output. The last line of a killed process may be truncated. */
export function parseLines(stdout: string): Line[] {
  const whole = stdout.slice(0, stdout.lastIndexOf('\n') + 1);
  return whole.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)));
}

/** A message as the program reads it: by default a reply whose text is its id. */
export function message(message_id: string, more: Partial<Message> = {}): Message {
  const empty = { created_at: null, external_message_id: null, session_id: null, raw: {} };
  return { ...empty, message_id, role: 'assistant', isReply: true, text: message_id, ...more };
}
