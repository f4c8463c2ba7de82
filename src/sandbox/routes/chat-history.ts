import * as v from 'valibot';
import { sourceAt } from '../chat/source.ts';
import { HISTORY_PATH, type Quirk } from '../faults.ts';
import { checkSource } from '../gate.ts';
import { pageSizeOf } from '../paging.ts';
import { invalidInput, Problem } from '../problem.ts';
import type { Route, Service, ServiceContext } from '../service.ts';
import { check, sessionId } from '../shapes.ts';
import type { MessageRecord, Thread } from '../store/messages.ts';

/** A page ends before it holds more text than this, in UTF-16 units, though never before its first message. */
const MAX_PAGE_TEXT = 8 * 1024 * 1024;

const querySchema = v.object({
  source_id: v.string(),
  session_id: sessionId(),
  after_message_id: v.optional(v.string()),
});

/** The index of the first message after the cursor. @throws Problem 422 for a cursor that is no message of the session. */
function startOf(thread: Thread | undefined, cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const position = thread?.positionOf(cursor);
  if (position !== undefined) return position + 1;
  const fields = [{ path: 'after_message_id', message: 'is no message of this session' }];
  throw new Problem(422, 'unknown_cursor', `There is no message ${JSON.stringify(cursor)} in this session.`, {
    fields,
  });
}

/** How many messages from `start` on are on one page. */
function lengthOf(messages: readonly MessageRecord[], start: number, size: number, quirk: Quirk | undefined): number {
  let length = 0;
  let text = 0;
  for (const message of messages.slice(start, start + size)) {
    text += message.text.length;
    if (text > MAX_PAGE_TEXT && length > 0) break;
    length += 1;
  }
  return quirk?.kind === 'short_page' ? Math.ceil(length / 2) : length;
}

function swapNeighbours<Item>(items: readonly Item[]): Item[] {
  return items.flatMap((item, index) => (index % 2 === 0 ? [...items.slice(index + 1, index + 2), item] : []));
}

/** What a page shows when its own messages are those from `start` up to `end`. */
function shownOn(messages: readonly MessageRecord[], start: number, end: number, quirk: Quirk | undefined) {
  const first = quirk?.kind === 'repeat' ? Math.max(0, start - quirk.messages) : start;
  const shown = messages.slice(first, end);
  return quirk?.kind === 'reorder' ? swapNeighbours(shown) : shown;
}

/**
 * One page of a session's messages after the cursor. The next page is where the last message of this one is the cursor,
 * so what is said meanwhile moves no page. Costs no more than the page, however long the session.
 */
function historyPage(service: Service, c: ServiceContext) {
  const query = check(querySchema, c.req.query());
  if (!query.ok) throw invalidInput(query.fields);
  const { source_id, session_id, after_message_id } = query.value;
  const size = pageSizeOf(service, c);
  checkSource(c.get('token'), source_id);
  sourceAt(service, source_id);
  const thread = service.store.world.threads.get(source_id, session_id);
  const messages = thread?.messages ?? [];
  const start = startOf(thread, after_message_id);
  const quirk = c.get('quirk');
  const end = start + lengthOf(messages, start, size, quirk);
  const last = end < messages.length ? messages[end - 1] : undefined;
  const further = last && { source_id, session_id, after_message_id: last.message_id, page_size: String(size) };
  return {
    next: further ? `${service.origin}${c.req.path}?${new URLSearchParams(further)}` : null,
    previous: null,
    results: shownOn(messages, start, end, quirk),
  };
}

/** GET /integrations/api-chat/history/ (spec §4.4, endpoint 6); a session in which nothing was said is empty. */
export function chatHistoryRoutes(service: Service): Route[] {
  return [
    {
      method: 'GET',
      path: HISTORY_PATH,
      scope: 'api_chat.runtime',
      handle: (c) => c.json(historyPage(service, c)),
    },
  ];
}
