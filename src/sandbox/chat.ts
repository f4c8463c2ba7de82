import * as v from 'valibot';
import { HISTORY_PATH } from './faults.ts';
import { checkInput, invalidInput, messageTextSchema, nonBlank, readBody, sessionIdSchema } from './input.ts';
import { pageSizeOf, visibleRows } from './pages.ts';
import { type ChatSource, type Message, messageSchema, receiptSchema } from './resources.ts';
import { planReplies } from './script.ts';
import { createId, type Operation, type Service, type ServiceContext } from './service.ts';
import { requireAgent, requireSource } from './spaces.ts';
import { type PlannedReply, sessionKey } from './store.ts';
import { deliverMessage } from './webhooks.ts';

/*
 * Agents get messages and reply when it is time. A message is stored together with the replies that its agent plans, and a
 * reply together with the run that it starts. A reply has its id from the beginning. So after a crash each reply is either
 * planned or sent: never lost, never sent twice.
 */

interface Registration {
  readonly session_id: string;
  readonly text: string;
  readonly external_message_id: string;
  readonly cron_job_id?: string;
}

/** The time of the next message of a session: timestamps are unique and ascending. */
function nextTimestamp(newest: Message | undefined, now: number): string {
  return new Date(newest ? Math.max(now, Date.parse(newest.created_at) + 1) : now).toISOString();
}

/** Registers a message for an agent (spec §4.3), or finds the one with the same external id in the session. */
export function registerMessage(
  service: Service,
  source: ChatSource,
  { session_id, text, external_message_id, cron_job_id }: Registration,
): { message: Message; created: boolean } {
  const { store, clock } = service;
  const { source_id } = source;
  const session = sessionKey(source_id, session_id);
  const messages = store.messages.in(session);
  const existing = messages.find((each) => each.external_message_id === external_message_id);
  if (existing) return { message: existing, created: false };
  const message: Message = {
    message_id: createId('msg'),
    source_id,
    session_id,
    role: 'user',
    text,
    external_message_id,
    in_reply_to: null,
    ...(cron_job_id !== undefined && { cron_job_id }),
    created_at: nextTimestamp(messages.at(-1), clock.now()),
  };
  store.messages.put(message);
  // A workflow runs once per message. An inbox has one worker, which takes the waiting messages when it is done.
  const isBusy = source.routing_mode === 'agent_inbox' && store.replies.in(session).length > 0;
  if (source.reply_capable && isBusy) store.inbox.put(message);
  else if (source.reply_capable) startRun(service, source, [message]);
  return { message, created: true };
}

/** Makes the agent of a source take these messages and plan its replies. */
function startRun(service: Service, source: ChatSource, messages: readonly Message[]): void {
  const { store, clock } = service;
  const agent = requireAgent(service, source.agent_id);
  const { session_id = '', message_id = null } = messages.at(-1) ?? {};
  const text = messages.map((message) => message.text).join('\n');
  for (const message of messages) store.inbox.remove(message.message_id);
  for (const reply of planReplies(store.script.get()?.rules ?? [], agent, text)) {
    const planned: PlannedReply = {
      message_id: createId('msg'),
      source_id: source.source_id,
      session_id,
      role: 'assistant',
      text: reply.text,
      in_reply_to: message_id,
      due_at: clock.now() + reply.after_ms,
    };
    store.replies.put(planned);
    scheduleReply(service, planned);
  }
}

function scheduleReply(service: Service, reply: PlannedReply): void {
  service.clock.schedule(`reply ${reply.message_id}`, reply.due_at, () => sendReply(service, reply));
}

function sendReply(service: Service, { due_at: _, ...reply }: PlannedReply): void {
  const { store, clock } = service;
  const session = sessionKey(reply.source_id, reply.session_id);
  const created_at = nextTimestamp(store.messages.in(session).at(-1), clock.now());
  const message: Message = { ...reply, external_message_id: null, created_at };
  store.replies.remove(reply.message_id);
  store.messages.put(message);
  deliverMessage(service, message);
  const waiting = store.inbox.in(session);
  if (waiting.length > 0 && store.replies.in(session).length === 0) {
    startRun(service, requireSource(service, reply.source_id), waiting);
  }
}

/** Schedules the replies that were planned when the sandbox last stopped. */
export function resumeReplies(service: Service): void {
  for (const reply of service.store.replies.all()) scheduleReply(service, reply);
}

/**
 * Adds messages to a session without a reaction of the agent. They get increasing times up to the present.
 * @param textOf returns the text of each message, by its number from 1
 */
export function addMessages(
  { store, clock }: Service,
  place: Pick<Message, 'source_id' | 'session_id' | 'role'>,
  count: number,
  textOf: (number: number) => string,
): Message[] {
  const start = clock.now() - count;
  let newest = store.messages.in(sessionKey(place.source_id, place.session_id)).at(-1);
  return Array.from({ length: count }, (_, index) => {
    const message: Message = {
      message_id: createId('msg'),
      ...place,
      text: textOf(index + 1),
      external_message_id: null,
      in_reply_to: null,
      created_at: nextTimestamp(newest, start + index + 1),
    };
    newest = message;
    store.messages.put(message);
    return message;
  });
}

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
  const length = Math.min(size, messages.length - start);
  const end = start + (quirk?.kind === 'short_page' ? Math.ceil(length / 2) : length);
  const shown = messages.slice(quirk?.kind === 'repeat' ? Math.max(0, start - quirk.messages) : start, end);
  const last = end < messages.length ? messages[end - 1] : undefined;
  const next = last && { source_id, session_id, after_message_id: last.message_id, page_size: String(size) };
  return {
    next: next ? `${service.origin}${c.req.path}?${new URLSearchParams(next)}` : null,
    previous: null,
    results: quirk?.kind === 'reorder' ? swapNeighbors(shown) : shown,
  };
}

/** API chat: sending a message, and reading the history (spec §4.3 and §4.4, endpoints 5 and 6). */
export function chatOperations(service: Service): Operation[] {
  return [
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
        const input = await readBody(c, messageBody);
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
