import { expect } from 'vitest';
import { type ApiResponse, call, PROVISION, provisionBody, type SandboxClient, type Service } from './service.ts';

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

type Conversations = Awaited<ReturnType<typeof startConversations>>;

/** Sessions named `s1` and so on, of one source, and the arguments of a `chat tail` of all of them. */
export async function startConversations(service: Service, count: number) {
  const chat = await createChat(service);
  const sessions = Array.from({ length: count }, (_, index) => `s${index + 1}`);
  const named = sessions.flatMap((session) => ['--session', session]);
  return { service, chat, sessions, tailArgs: ['chat', 'tail', '--source', chat.source_id, ...named, '-o', 'json'] };
}

/** Adds replies to the sessions in turn, some at a time, until each has `each` of them. */
export async function addReplies({ service, chat, sessions }: Conversations, each: number, pauseMs = 0): Promise<void> {
  for (let done = 0, size = 1; done < each; done += size, size = (size * 3) % 37) {
    const count = Math.min(size, each - done);
    for (const session_id of sessions) {
      const body = { source_id: chat.source_id, session_id, role: 'assistant', text: 'reply', count };
      expect((await service.admin('POST', '/messages', body)).status).toBe(201);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Parses the complete lines of an output. The last line of a killed process may be truncated. */
export function parseLines(stdout: string): Line[] {
  const whole = stdout.slice(0, stdout.lastIndexOf('\n') + 1);
  return whole.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)));
}

/** Checks that lines of output are all messages of each session, in the order of the service. */
export async function expectAllShown({ chat, sessions }: Conversations, lines: readonly Line[]): Promise<void> {
  for (const session_id of sessions) {
    const shown = lines.filter((line) => line.session_id === session_id).map(({ message_id }) => message_id);
    const entries = await chat.history({ session_id, page_size: '1000' });
    expect(shown).toEqual(entries.map(({ message_id }) => message_id));
  }
}
