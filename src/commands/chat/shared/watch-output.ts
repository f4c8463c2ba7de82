import { type Conversation, Conversations, statusOf } from '../../../chat/conversations.ts';
import type { WatchEvent } from '../../../chat/watch.ts';
import type { Context } from '../../../cli/context.ts';
import {
  type Column,
  type CommandResult,
  type ListResult,
  listResult,
  type Screen,
  type StreamEvent,
} from '../../../output/command-result.ts';
import { formatNotice, toMessageJson, toStreamEvent, writeNotice } from './messages.ts';

const TONES = { unanswered: 'warn', cannot_be_read: 'bad', answered: 'good', empty: 'dim' } as const;

function sinceOf({ unansweredSince }: Conversation): string | null {
  return unansweredSince === undefined ? null : new Date(unansweredSince).toISOString();
}

/** The text of the last message on one line. */
function previewOf({ last }: Conversation): string | undefined {
  return last?.text?.trim().replace(/\s+/g, ' ');
}

const COLUMNS: readonly Column<Conversation>[] = [
  { header: 'CUSTOMER', value: ({ space }) => space, fit: 'end' },
  // The id of its source, where the service does not tell its name.
  { header: 'AGENT', value: ({ agent, source_id }) => agent ?? source_id },
  { header: 'SESSION', value: ({ session_id }) => session_id },
  { header: 'STATUS', value: (each) => statusOf(each).replaceAll('_', ' '), tone: (each) => TONES[statusOf(each)] },
  { header: 'SINCE', value: (each) => sinceOf(each) ?? each.last?.created_at, isTime: true },
  { header: 'MESSAGE', value: previewOf, fit: 'end', isOptional: true },
];

function toJson(conversation: Conversation) {
  const { source_id, session_id, last, space, agent } = conversation;
  return {
    source_id,
    session_id,
    space: space ?? null,
    agent: agent ?? null,
    status: statusOf(conversation),
    unanswered_since: sinceOf(conversation),
    last_message_at: last?.created_at ?? null,
    last_message: last ? toMessageJson(conversation, last) : null,
  };
}

/** @param note is shown below */
function toList(conversations: readonly Conversation[], note = ''): ListResult {
  return listResult(conversations, COLUMNS, { empty: 'No conversation matches.', json: toJson, summary: () => note });
}

/** Applies the events one by one. Without those that do not matter here: messages missing at the beginning of a history. */
async function* applied(events: AsyncIterable<WatchEvent>, { clock }: Context) {
  const conversations = new Conversations();
  for await (const event of events) {
    if (event.kind !== 'gap') yield { event, conversations, hasChanged: conversations.apply(event, clock.now()) };
  }
}

/** New messages as they come. Those that a conversation began with while the watch ran are new, too. */
export async function* toStreamEvents(
  context: Context,
  events: AsyncIterable<WatchEvent>,
): AsyncGenerator<StreamEvent, void, void> {
  const startedAt = context.clock.now();
  for await (const { event, conversations } of applied(events, context)) {
    if (event.kind === 'message') {
      const isNew = !event.isBacklog || Date.parse(event.message.created_at ?? '') >= startedAt;
      if (!isNew) continue;
      const { space } = conversations.namesOf(event.ref);
      const label = [space, event.ref.session_id].filter((part) => part !== undefined).join(', ');
      yield toStreamEvent(event.ref, event.message, { label, showTimestamp: false });
    } else await writeNotice(context, event);
  }
}

/** The table, whenever it changes. What a notice says is below it until the next one. */
export async function* toScreens(
  context: Context,
  events: AsyncIterable<WatchEvent>,
): AsyncGenerator<Screen, void, void> {
  let note: string | undefined;
  for await (const { event, conversations, hasChanged } of applied(events, context)) {
    note = formatNotice(event) ?? note;
    if (!hasChanged) continue;
    context.progress.stop();
    const list = conversations.list();
    const waiting = list.length === 0 ? 'No conversation was read so far.' : undefined;
    yield { list: toList(list, note ?? waiting), now: context.clock.now() };
  }
}

/** The table, or the list for a script, once everything was read. */
export async function readOnce(context: Context, events: AsyncIterable<WatchEvent>): Promise<CommandResult> {
  let all: Conversations | undefined;
  for await (const { event, conversations } of applied(events, context)) {
    await writeNotice(context, event);
    all = conversations;
  }
  context.progress.stop();
  return toList(all?.list() ?? []);
}
