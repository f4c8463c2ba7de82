import * as v from 'valibot';
import { ensureChatSource, registerMessage, requireAgent, requireSource } from './agents.ts';
import { HISTORY_PATH, type Quirk } from './faults.ts';
import { checkInput, invalidInput, messageTextSchema, nonBlank, readBody, sessionIdSchema } from './input.ts';
import { pageSizeOf, visibleRows } from './pages.ts';
import { type Message, messageSchema, receiptSchema, routingModeSchema, sourceSchema } from './resources.ts';
import type { Operation, Service, ServiceContext } from './service.ts';
import { requireSpace } from './spaces.ts';
import { sessionKey } from './store.ts';

/** Room for a text of 1 MiB, and as much again for JSON's escapes. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;

/** A page of the history has at most this much text, in UTF-16 units, but always at least one message. */
const MAX_PAGE_TEXT = 8 * 1024 * 1024;

/** The body of spec §4.2. The spec leaves open what is required: here every field is optional. */
const setupBody = v.strictObject({
  name: v.optional(nonBlank()),
  reply_capable: v.optional(v.boolean()),
  routing_mode: v.optional(routingModeSchema),
});

/** The body of spec §4.3. The spec leaves open what is required: here `response_mode` is optional. */
const messageBody = v.strictObject({
  source_id: v.string(),
  session_id: sessionIdSchema,
  text: messageTextSchema,
  external_message_id: nonBlank(),
  response_mode: v.optional(v.literal('accepted', 'must be accepted'), 'accepted'),
});

const historyQuery = v.object({
  source_id: v.string(),
  session_id: sessionIdSchema,
  after_message_id: v.optional(v.string()),
});

/** The index after the cursor. @throws Problem 422 when the cursor is not a message of the session */
function startAfter(messages: readonly Message[], cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  // Most readers are near the end.
  const index = messages.findLastIndex(({ message_id }) => message_id === cursor);
  if (index !== -1) return index + 1;
  throw invalidInput([{ path: 'after_message_id', message: 'is not a message of this session' }], 'unknown_cursor');
}

/** How many messages from `start` on fit on one page. */
function pageLength(messages: readonly Message[], start: number, size: number, quirk?: Quirk): number {
  let length = 0;
  let text = 0;
  for (const message of messages.slice(start, start + size)) {
    text += message.text.length;
    if (text > MAX_PAGE_TEXT && length > 0) break;
    length += 1;
  }
  return quirk?.kind === 'short_page' ? Math.ceil(length / 2) : length;
}

function swapNeighbors<Item>(items: readonly Item[]): Item[] {
  return items.flatMap((item, index) => (index % 2 === 0 ? [...items.slice(index + 1, index + 2), item] : []));
}

/**
 * A page of a session's messages after the cursor (spec §4.4). Its last message is the cursor of the next page, so new
 * messages do not shift pages. An unknown session is empty.
 */
function historyPage(service: Service, c: ServiceContext) {
  const { source_id, session_id, after_message_id } = checkInput(historyQuery, c.req.query());
  const size = pageSizeOf(service, c);
  requireSource(service, source_id);
  const all = service.store.messages.in(sessionKey(source_id, session_id));
  const messages = visibleRows(service, c, all);
  const quirk = c.get('quirk');
  const start = startAfter(all, after_message_id);
  const end = start + pageLength(messages, start, size, quirk);
  const shown = messages.slice(quirk?.kind === 'repeat' ? Math.max(0, start - quirk.messages) : start, end);
  const last = end < messages.length ? messages[end - 1] : undefined;
  const next = last && { source_id, session_id, after_message_id: last.message_id, page_size: String(size) };
  return {
    next: next ? `${service.origin}${c.req.path}?${new URLSearchParams(next)}` : null,
    previous: null,
    results: quirk?.kind === 'reorder' ? swapNeighbors(shown) : shown,
  };
}

/**
 * API chat: setting up a source, sending a message, and reading the history (spec §4.2 to §4.4, endpoints 4 to 6). An existing
 * source or message stays unchanged.
 */
export function chatOperations(service: Service): Operation[] {
  return [
    {
      id: 'setUpApiChat',
      method: 'POST',
      path: '/automation/spaces/:space_id/agents/:agent_id/api-chat/',
      scope: 'api_chat.setup',
      summary: "Creates or reuses the agent's API chat source. 201 for a new source, else 200.",
      body: setupBody,
      returns: sourceSchema,
      statuses: [200, 201],
      handle: async (c) => {
        const input = await readBody(c, setupBody);
        const { space_id } = requireSpace(service, c.req.param('space_id') ?? '');
        const agent = requireAgent(service, c.req.param('agent_id') ?? '', space_id);
        const { source, created } = ensureChatSource(service, agent, input);
        return c.json({ ...source, space_id, created }, created ? 201 : 200);
      },
    },
    {
      id: 'sendMessage',
      method: 'POST',
      path: '/integrations/api-chat/message/',
      scope: 'api_chat.runtime',
      summary: 'Registers a message. 201 for a new message, else 200.',
      body: messageBody,
      returns: receiptSchema,
      statuses: [200, 201],
      handle: async (c) => {
        const input = await readBody(c, messageBody, { maxBytes: MAX_MESSAGE_BYTES });
        const { message, created } = registerMessage(service, requireSource(service, input.source_id), input);
        return c.json({ message_id: message.message_id, created }, created ? 201 : 200);
      },
    },
    {
      id: 'readHistory',
      method: 'GET',
      path: HISTORY_PATH,
      scope: 'api_chat.runtime',
      summary: 'Reads the messages of a session after a cursor.',
      query: historyQuery,
      returns: messageSchema,
      list: 'history',
      handle: (c) => c.json(historyPage(service, c)),
    },
  ];
}
