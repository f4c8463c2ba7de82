import type { Conversation, Watch } from '../../../chat/watch.ts';
import type { Context } from '../../../cli/context.ts';
import {
  type Column,
  type ListResult,
  listResult,
  type Screen,
  type StreamEvent,
} from '../../../output/command-result.ts';
import { formatNotice, sessionColors, toMessageJson, toStreamEvent, writeNotice } from './messages.ts';

const TONES = { unanswered: 'warn', cannot_be_read: 'bad', answered: 'good', empty: 'dim' } as const;

function sinceOf({ unansweredSince }: Conversation): string | null {
  return unansweredSince === undefined ? null : new Date(unansweredSince).toISOString();
}

const COLUMNS: readonly Column<Conversation>[] = [
  { header: 'CUSTOMER', value: ({ space }) => space, fit: 'end' },
  // The id of its source, where the service does not tell its name.
  { header: 'AGENT', value: ({ agent, source_id }) => agent ?? source_id, fit: 'end', isOptional: true },
  { header: 'SESSION', value: ({ session_id }) => session_id, fit: 'end' },
  { header: 'STATUS', value: ({ status }) => status.replaceAll('_', ' '), tone: ({ status }) => TONES[status] },
  { header: 'SINCE', value: (each) => sinceOf(each) ?? each.last?.created_at, isTime: true },
  { header: 'MESSAGE', value: ({ last }) => last?.text?.trim().replace(/\s+/g, ' '), fit: 'end', isOptional: true },
];

function toJson(conversation: Conversation) {
  const { source_id, session_id, status, last, space = null, agent = null } = conversation;
  const last_message = last ? toMessageJson(conversation, last) : null;
  const times = { unanswered_since: sinceOf(conversation), last_message_at: last?.created_at ?? null };
  return { source_id, session_id, space, agent, status, ...times, last_message };
}

const NONE = 'No conversations. Those that this machine sends messages to, or follows, appear here.';

function toList(watch: Watch, note = ''): ListResult {
  return listResult(watch.conversations(), COLUMNS, { empty: NONE, json: toJson, summary: () => note });
}

/** New messages as they come. Those that a conversation began with while the watch ran are new, too. */
export async function* toStreamEvents(context: Context, watch: Watch): AsyncGenerator<StreamEvent, void, void> {
  const colorOf = sessionColors();
  for await (const event of watch.events()) {
    await writeNotice(context, event);
    if (event.kind === 'tick') context.progress.stop();
    if (event.kind !== 'message' || watch.isOld(event)) continue;
    context.progress.stop();
    const { space } = watch.namesOf(event.ref);
    const label = space === undefined ? event.ref.session_id : `${space}, ${event.ref.session_id}`;
    yield toStreamEvent(event.ref, event.message, { label, colorOf, showTimestamp: false });
  }
}

/** Says how to follow the first row, and which conversations are listed. */
function guide({ command }: Context, watch: Watch): string {
  const [first] = watch.conversations();
  if (!first) return NONE;
  const follow = command(['chat', 'tail', '--source', first.source_id, '--session', first.session_id]);
  return `To follow the first: ${follow}\nListed are the sessions that this machine sent messages to, or followed. The API lists no others.`;
}

/** The table, once a second. What a notice says is below it until the next one. */
export async function* toScreens(context: Context, watch: Watch): AsyncGenerator<Screen, void, void> {
  const { clock, progress } = context;
  let note: string | undefined;
  for await (const event of watch.events()) {
    note = formatNotice(event) ?? note;
    if (event.kind !== 'tick') continue;
    progress.stop();
    yield { list: toList(watch, note ?? guide(context, watch)), now: clock.now() };
  }
}

/** The table, or the list for a script, once everything was read. */
export async function readOnce(context: Context, watch: Watch): Promise<ListResult> {
  for await (const event of watch.events()) await writeNotice(context, event);
  context.progress.stop();
  return toList(watch);
}
