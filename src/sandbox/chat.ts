import * as v from 'valibot';
import { canReach } from './access.ts';
import { check, found, invalidInput, messageText, nonBlank, oneOf } from './input.ts';
import { isYounger, pageSchema, pageSize, visibleRows } from './pages.ts';
import { ROUTES } from './routes.ts';
import { type ChatSource, createId, type Message, messageSchema, type PlannedReply } from './rows.ts';
import { planReplies } from './script.ts';
import { type Operation, readBody, type Service, type ServiceContext } from './service.ts';
import { settingsOf } from './store.ts';
import { deliverMessage } from './webhooks.ts';

/** The body of spec §4.3. The spec leaves open what is required: here `response_mode` is optional. */
const messageBody = v.strictObject({
  source_id: v.string(),
  session_id: nonBlank,
  text: messageText,
  external_message_id: nonBlank,
  response_mode: v.optional(oneOf('accepted')),
});

/** Adds a message to a session. Messages may share a millisecond. */
export function addMessage(
  { store, clock }: Service,
  fields: Pick<Message, 'source_id' | 'session_id' | 'role' | 'text'> & Partial<Message>,
): Message {
  const own = { message_id: createId('msg'), external_message_id: null, run_id: null };
  const message = { ...own, ...fields, created_at: clock.timestamp() };
  store.messages.put(message);
  return message;
}

/**
 * Registers a message for an agent (spec §4.3), or finds the one with the same external id in the session. With the
 * routing mode `session_workflow` it starts a run of its own.
 */
export function registerMessage(
  service: Service,
  source: ChatSource,
  { session_id, text, external_message_id }: Omit<v.InferOutput<typeof messageBody>, 'source_id'>,
): { message: Message; created: boolean } {
  const { source_id, routing_mode } = source;
  const [existing] = service.store.messages.in({ source_id, session_id, external_message_id });
  if (existing) return { message: existing, created: false };
  const run_id = routing_mode === 'session_workflow' ? createId('run') : null;
  const message = addMessage(service, { source_id, session_id, role: 'user', text, external_message_id, run_id });
  if (source.reply_capable) planRepliesTo(service, source, message);
  return { message, created: true };
}

function planRepliesTo(service: Service, { agent_id }: ChatSource, message: Message): void {
  const { store, clock } = service;
  const { source_id, session_id, run_id } = message;
  const { name = '' } = store.agents.get(agent_id) ?? {};
  for (const { text, after_ms } of planReplies(store.script.get()?.rules ?? [], name, message.text)) {
    const due_at = clock.now() + after_ms;
    const planned = { message_id: createId('msg'), source_id, session_id, run_id, text, due_at };
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
  /** Where the next page of a newest-first history ends. */
  before_message_id: v.optional(v.string()),
  page_size: pageSize,
});

const shownMessage = v.object({
  ...messageSchema.entries,
  /** Only of replies, where the service shows those that the agent still writes. */
  status: v.optional(oneOf('in_progress', 'completed')),
});

/** With the fault `in_progress`, a young reply has only half of its text so far. */
function showMessage(service: Service, c: ServiceContext, message: Message): v.InferOutput<typeof shownMessage> {
  const view = c.get('views')?.find(({ kind }) => kind === 'in_progress');
  if (view?.kind !== 'in_progress' || message.role === 'user') return message;
  if (!isYounger(service, message, view.ms)) return { ...message, status: 'completed' };
  return { ...message, text: message.text.slice(0, Math.ceil(message.text.length / 2)), status: 'in_progress' };
}

/**
 * A page of a session's messages after the cursor (spec §4.4). Its last message is the cursor of the next page, so new
 * messages do not shift pages. An unknown session is empty.
 */
function historyPage(service: Service, c: ServiceContext) {
  const { store, origin } = service;
  const query = check(historyQuery, c.req.query());
  const { source_id, session_id, page_size: size = settingsOf(store).page_size, ...cursors } = query;
  findSource(service, c, source_id);
  const all = store.messages.in({ source_id, session_id });
  const indexOf = (cursor: 'after_message_id' | 'before_message_id', otherwise: number): number => {
    const id = cursors[cursor];
    if (id === undefined) return otherwise;
    const message = store.messages.get(id);
    // By its identity: comparing ids would take as long as all else in a long session.
    const index = message ? all.indexOf(message) : -1;
    if (index !== -1) return index;
    throw invalidInput([{ path: cursor, message: 'is not a message of this session' }]);
  };
  const [after, before] = [indexOf('after_message_id', -1), indexOf('before_message_id', all.length)];
  const isReversed = c.get('views')?.some(({ kind }) => kind === 'newest_first');
  const messages = visibleRows(service, c, all.slice(after + 1, before));
  const results = messages.slice(0, size);
  const last = messages.length > size ? results.at(-1)?.message_id : undefined;
  const cursor = last && { page_size: String(size), [isReversed ? 'before_message_id' : 'after_message_id']: last };
  const next = cursor && new URLSearchParams({ ...c.req.query(), ...cursor });
  return {
    next: next ? `${origin}${c.req.path}?${next}` : null,
    results: results.map((message) => showMessage(service, c, message)),
  };
}

/** @throws Problem 404 unless there is one in a space that the token can reach */
function findSource({ store }: Service, c: ServiceContext, source_id: string): ChatSource {
  const source = store.sources.get(source_id);
  return found(canReach(c, source?.space_id) ? source : undefined, 'source', source_id);
}

/** API chat: sending a message, and reading the history (spec §4.3 and §4.4, endpoints 5 and 6). */
export const CHAT_OPERATIONS: readonly Operation[] = [
  {
    ...ROUTES.sendMessage,
    body: messageBody,
    returns: v.object({ message_id: v.string(), created: v.boolean() }),
    handle: async (service, c) => {
      const input = await readBody(c, messageBody);
      const source = findSource(service, c, input.source_id);
      const { message, created } = registerMessage(service, source, input);
      return c.json({ message_id: message.message_id, created }, created ? 201 : 200);
    },
  },
  {
    ...ROUTES.readHistory,
    query: historyQuery,
    returns: v.omit(pageSchema(shownMessage), ['count']),
    handle: (service, c) => c.json(historyPage(service, c)),
  },
];
