import * as v from 'valibot';
import { checkInput, found, invalidInput, messageTextSchema, nonBlank, readBody } from './input.ts';
import { pageSizeOf, visibleRows } from './pages.ts';
import { type ChatSource, type Message, messageSchema, receiptSchema } from './resources.ts';
import { planReplies } from './script.ts';
import { createId, type Operation, type Service, type ServiceContext } from './service.ts';
import type { PlannedReply } from './store.ts';
import { deliverMessage } from './webhooks.ts';

/*
 * Agents get messages and reply when it is time. A message is stored together with the replies that its agent plans. A
 * reply has its id from the beginning. So after a crash each reply is either planned or sent: never lost, never sent
 * twice.
 */

/** The body of spec §4.3. The spec leaves open what is required: here `response_mode` is optional. */
const messageBody = v.strictObject({
  source_id: v.string(),
  session_id: nonBlank,
  text: messageTextSchema,
  external_message_id: nonBlank,
  response_mode: v.optional(v.literal('accepted', 'must be accepted'), 'accepted'),
});

/** Creates a message. Timestamps in a session are unique and ascending. @param newest of the session */
export function createMessage(
  newest: Message | undefined,
  now: number,
  fields: Pick<Message, 'source_id' | 'session_id' | 'role' | 'text'> & Partial<Message>,
): Message {
  const time = newest ? Math.max(now, Date.parse(newest.created_at) + 1) : now;
  const created_at = new Date(time).toISOString();
  return { message_id: createId('msg'), external_message_id: null, created_at, ...fields };
}

/** Registers a message for an agent (spec §4.3), or finds the one with the same external id in the session. */
export function registerMessage(
  service: Service,
  source: ChatSource,
  fields: Pick<v.InferOutput<typeof messageBody>, 'session_id' | 'text' | 'external_message_id'>,
): { message: Message; created: boolean } {
  const { store, clock } = service;
  const { source_id } = source;
  const { session_id, text, external_message_id } = fields;
  const messages = store.messages.in(source_id, session_id);
  const existing = messages.find((each) => each.external_message_id === external_message_id);
  if (existing) return { message: existing, created: false };
  const own = { source_id, session_id, role: 'user', text, external_message_id } as const;
  const message = createMessage(messages.at(-1), clock.now(), own);
  store.messages.put(message);
  if (source.reply_capable) planRepliesTo(service, message);
  return { message, created: true };
}

function planRepliesTo(service: Service, { source_id, session_id, text }: Message): void {
  const { store, clock } = service;
  for (const { text: reply, after_ms } of planReplies(store.script.get()?.rules ?? [], text)) {
    const own = { message_id: createId('msg'), source_id, session_id, role: 'assistant', text: reply } as const;
    const planned: PlannedReply = { ...own, due_at: clock.now() + after_ms };
    store.replies.put(planned);
    scheduleReply(service, planned);
  }
}

/** Sends a planned reply when it is time. */
export function scheduleReply(service: Service, reply: PlannedReply): void {
  service.clock.schedule(reply.due_at, () => sendReply(service, reply));
}

function sendReply(service: Service, { due_at: _, ...reply }: PlannedReply): void {
  const { store, clock } = service;
  const newest = store.messages.in(reply.source_id, reply.session_id).at(-1);
  const message = createMessage(newest, clock.now(), reply);
  store.replies.remove(reply.message_id);
  store.messages.put(message);
  deliverMessage(service, message);
}

/** Adds messages to a session without a reaction of the agent. They get increasing times up to the present. */
export function addMessages(
  { store, clock }: Service,
  place: Pick<Message, 'source_id' | 'session_id' | 'role'>,
  texts: readonly string[],
): Message[] {
  const start = clock.now() - texts.length;
  let newest = store.messages.in(place.source_id, place.session_id).at(-1);
  return texts.map((text, index) => {
    const message = createMessage(newest, start + index + 1, { ...place, text });
    newest = message;
    store.messages.put(message);
    return message;
  });
}

const historyQuery = v.object({
  source_id: v.string(),
  session_id: nonBlank,
  after_message_id: v.optional(v.string()),
});

/** The index after the cursor. @throws Problem 422 when the cursor is not a message of the session */
function startAfter(messages: readonly Message[], cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  // Most readers are near the end.
  const index = messages.findLastIndex(({ message_id }) => message_id === cursor);
  if (index !== -1) return index + 1;
  throw invalidInput([{ path: 'after_message_id', message: 'is not a message of this session' }]);
}

/**
 * A page of a session's messages after the cursor (spec §4.4). Its last message is the cursor of the next page, so new
 * messages do not shift pages. An unknown session is empty.
 */
function historyPage(service: Service, c: ServiceContext) {
  const { store, origin } = service;
  const { source_id, session_id, after_message_id } = checkInput(historyQuery, c.req.query());
  const size = pageSizeOf(service, c);
  found(store.sources.get(source_id), 'source', source_id);
  const all = store.messages.in(source_id, session_id);
  const start = startAfter(all, after_message_id);
  const messages = visibleRows(service, c, all);
  const results = messages.slice(start, start + size);
  const last = start + size < messages.length ? results.at(-1) : undefined;
  const next = last && { source_id, session_id, after_message_id: last.message_id, page_size: String(size) };
  return { next: next ? `${origin}${c.req.path}?${new URLSearchParams(next)}` : null, results };
}

/** API chat: sending a message, and reading the history (spec §4.3 and §4.4, endpoints 5 and 6). */
export const CHAT_OPERATIONS: readonly Operation[] = [
  {
    id: 'sendMessage',
    method: 'POST',
    path: '/integrations/api-chat/message/',
    scope: 'api_chat.runtime',
    summary: 'Registers a message. 201 for a new message, else 200.',
    body: messageBody,
    returns: receiptSchema,
    handle: async (service, c) => {
      const input = await readBody(c, messageBody);
      const source = found(service.store.sources.get(input.source_id), 'source', input.source_id);
      const { message, created } = registerMessage(service, source, input);
      return c.json({ message_id: message.message_id, created }, created ? 201 : 200);
    },
  },
  {
    id: 'readHistory',
    method: 'GET',
    path: '/integrations/api-chat/history/',
    scope: 'api_chat.runtime',
    summary: 'Reads the messages of a session after a cursor.',
    query: historyQuery,
    returns: messageSchema,
    list: 'history',
    handle: (service, c) => c.json(historyPage(service, c)),
  },
];
