import { Problem, quote } from './input.ts';
import type { Agent, ChatSource, Message } from './resources.ts';
import { planReplies } from './script.ts';
import { createId, type Service, timestamp } from './service.ts';
import { type PlannedReply, sessionKey } from './store.ts';
import { deliverMessage } from './webhooks.ts';

/*
 * Agents get messages and reply when it is time. A message is stored together with the replies that its agent plans, and a
 * reply together with the run that it starts. A reply has its id from the beginning. So after a crash each reply is either
 * planned or sent: never lost, never sent twice.
 */

/** @throws Problem 404 when there is no such agent, or it is not in the space that is named */
export function requireAgent({ store }: Service, agentId: string, spaceId?: string): Agent {
  const agent = store.agents.get(agentId);
  if (agent && (spaceId === undefined || agent.space_id === spaceId)) return agent;
  const where = spaceId === undefined ? '' : ` in the space ${quote(spaceId)}`;
  throw new Problem(404, 'agent_not_found', `There is no agent ${quote(agentId)}${where}.`);
}

/** @throws Problem 404 when there is no such API chat source */
export function requireSource({ store }: Service, sourceId: string): ChatSource {
  const source = store.sources.get(sourceId);
  if (source) return source;
  throw new Problem(404, 'source_not_found', `There is no API chat source ${quote(sourceId)}.`);
}

type SourceOptions = { readonly [Field in 'name' | 'reply_capable' | 'routing_mode']?: ChatSource[Field] | undefined };

/** Returns the agent's auto-managed API chat source (spec §2), unchanged, or creates it. */
export function ensureChatSource(
  service: Service,
  agent: Agent,
  options: SourceOptions,
): { source: ChatSource; created: boolean } {
  const [existing] = service.store.sources.in(agent.agent_id);
  if (existing) return { source: existing, created: false };
  const source: ChatSource = {
    source_id: createId('src'),
    agent_id: agent.agent_id,
    name: options.name ?? agent.name,
    reply_capable: options.reply_capable ?? true,
    routing_mode: options.routing_mode ?? 'agent_inbox',
    created_at: timestamp(service),
  };
  service.store.sources.put(source);
  return { source, created: true };
}

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
