import * as v from 'valibot';
import { check, found, invalidInput, isoTime, messageText, nonBlank, oneOf, readBody } from './input.ts';
import { pageSchema, pageSize, visibleRows } from './pages.ts';
import { planReplies } from './script.ts';
import type { Operation, Service, ServiceContext } from './service.ts';
import type { ChatSource } from './spaces.ts';
import { createId, settingsOf } from './store.ts';
import { deliverMessage } from './webhooks.ts';

export const roleSchema = oneOf('user', 'assistant');

const messageSchema = v.object({
  message_id: v.string(),
  source_id: v.string(),
  session_id: v.string(),
  role: roleSchema,
  text: v.string(),
  /** Null for a message that no caller sent. */
  external_message_id: v.nullable(v.string()),
  created_at: isoTime,
});

export type Message = v.InferOutput<typeof messageSchema>;

/** A reply that is due later. Stored with the message that it answers, so that a crash neither loses nor repeats it. */
export interface PlannedReply extends Pick<Message, 'message_id' | 'source_id' | 'session_id' | 'text'> {
  /** Milliseconds since the epoch. */
  readonly due_at: number;
}

/** The body of spec §4.3. The spec leaves open what is required: here `response_mode` is optional. */
const messageBody = v.strictObject({
  source_id: v.string(),
  session_id: nonBlank,
  text: messageText,
  external_message_id: nonBlank,
  response_mode: v.optional(oneOf('accepted')),
});

/**
 * Adds a message to a session, whose timestamps are unique and ascending.
 * @param newest the last message of the session
 */
export function addMessage(
  { store, clock }: Service,
  fields: Pick<Message, 'source_id' | 'session_id' | 'role' | 'text'> & Partial<Message>,
  newest = store.messages.in(fields.source_id, fields.session_id).at(-1),
): Message {
  const time = newest ? Math.max(clock.now(), Date.parse(newest.created_at) + 1) : clock.now();
  const created_at = new Date(time).toISOString();
  const message = { message_id: createId('msg'), external_message_id: null, created_at, ...fields };
  store.messages.put(message);
  return message;
}

/** Registers a message for an agent (spec §4.3), or finds the one with the same external id in the session. */
export function registerMessage(
  service: Service,
  { source_id, reply_capable }: ChatSource,
  { session_id, text, external_message_id }: Omit<v.InferOutput<typeof messageBody>, 'source_id'>,
): { message: Message; created: boolean } {
  const earlier = service.store.messages.in(source_id, session_id);
  const existing = earlier.find((each) => each.external_message_id === external_message_id);
  if (existing) return { message: existing, created: false };
  const own = { source_id, session_id, role: 'user', text, external_message_id } as const;
  const message = addMessage(service, own, earlier.at(-1));
  if (reply_capable) planRepliesTo(service, message);
  return { message, created: true };
}

function planRepliesTo(service: Service, { source_id, session_id, text }: Message): void {
  const { store, clock } = service;
  for (const { text: reply, after_ms } of planReplies(store.script.get()?.rules ?? [], text)) {
    const due_at = clock.now() + after_ms;
    const planned = { message_id: createId('msg'), source_id, session_id, text: reply, due_at };
    store.replies.put(planned);
    scheduleReply(service, planned);
  }
}

/** Sends a planned reply when it is time. */
export function scheduleReply(service: Service, { due_at, ...reply }: PlannedReply): void {
  const { store, clock } = service;
  clock.schedule(due_at, () => {
    store.replies.remove(reply.message_id);
    deliverMessage(service, addMessage(service, { ...reply, role: 'assistant' }));
  });
}

const historyQuery = v.object({
  source_id: v.string(),
  session_id: nonBlank,
  after_message_id: v.optional(v.string()),
  page_size: pageSize,
});

/**
 * A page of a session's messages after the cursor (spec §4.4). Its last message is the cursor of the next page, so new
 * messages do not shift pages. An unknown session is empty.
 */
function historyPage(service: Service, c: ServiceContext) {
  const { store, origin } = service;
  const query = check(historyQuery, c.req.query());
  const { source_id, session_id, after_message_id, page_size: size = settingsOf(store).page_size } = query;
  found(store.sources.get(source_id), 'source', source_id);
  const all = store.messages.in(source_id, session_id);
  // Most readers are near the end.
  const start = all.findLastIndex(({ message_id }) => message_id === after_message_id) + 1;
  if (start === 0 && after_message_id !== undefined) {
    throw invalidInput([{ path: 'after_message_id', message: 'is not a message of this session' }]);
  }
  const messages = visibleRows(service, c, all);
  const results = messages.slice(start, start + size);
  const last = start + size < messages.length ? results.at(-1) : undefined;
  const next = last && { source_id, session_id, after_message_id: last.message_id, page_size: String(size) };
  return { next: next ? `${origin}${c.req.path}?${new URLSearchParams(next)}` : null, results };
}

/** API chat: sending a message, and reading the history (spec §4.3 and §4.4, endpoints 5 and 6). */
export const CHAT_OPERATIONS: readonly Operation[] = [
  {
    method: 'POST',
    path: '/integrations/api-chat/message/',
    scope: 'api_chat.runtime',
    summary: 'Registers a message. 201 for a new message, else 200.',
    body: messageBody,
    returns: v.object({ message_id: v.string(), created: v.boolean() }),
    handle: async (service, c) => {
      const input = await readBody(c, messageBody);
      const source = found(service.store.sources.get(input.source_id), 'source', input.source_id);
      const { message, created } = registerMessage(service, source, input);
      return c.json({ message_id: message.message_id, created }, created ? 201 : 200);
    },
  },
  {
    method: 'GET',
    path: '/integrations/api-chat/history/',
    scope: 'api_chat.runtime',
    summary: 'Reads the messages of a session after a cursor.',
    query: historyQuery,
    returns: v.omit(pageSchema(messageSchema), ['count']),
    handle: (service, c) => c.json(historyPage(service, c)),
  },
];
