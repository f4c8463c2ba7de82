import * as v from 'valibot';
import { checkSource } from '../auth.ts';
import type { Quirk } from '../faults.ts';
import { pageSizeOf, visibleItems } from '../paging.ts';
import { invalidInput, Problem } from '../problem.ts';
import type { Service, ServiceContext } from '../service.ts';
import type { Message } from '../store/changes.ts';
import type { Session } from '../store/session.ts';
import { check, quote, sessionId } from '../validation.ts';
import { requireSource } from './lookup.ts';

/** A page holds at most this much text, in UTF-16 units, but always at least one message. */
const MAX_PAGE_TEXT = 8 * 1024 * 1024;

const querySchema = v.object({
  source_id: v.string(),
  session_id: sessionId(),
  after_message_id: v.optional(v.string()),
});

/** The index of the first message after the cursor. @throws Problem 422 when the cursor is not a message of the session */
function startOf(session: Session | undefined, cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const index = session?.indexOf(cursor);
  if (index !== undefined) return index + 1;
  const fields = [{ path: 'after_message_id', message: 'is not a message of this session' }];
  throw new Problem(422, 'unknown_cursor', `There is no message ${quote(cursor)} in this session.`, { fields });
}

/** How many messages from `start` on fit on one page. */
function pageLength(messages: readonly Message[], start: number, size: number, quirk?: Quirk): number {
  let length = 0;
  let text = 0;
  // The edge of another shape asks for all messages.
  if (size === Number.MAX_SAFE_INTEGER) return messages.length - start;
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

/** The messages of a page from `start` up to `end`, changed by the quirk. */
function withQuirk(messages: readonly Message[], start: number, end: number, quirk?: Quirk): Message[] {
  const first = quirk?.kind === 'repeat' ? Math.max(0, start - quirk.messages) : start;
  const shown = messages.slice(first, end);
  return quirk?.kind === 'reorder' ? swapNeighbors(shown) : shown;
}

/**
 * Returns a page of a session's messages after the cursor (spec §4.4). The last message is the cursor of the next page, so
 * new messages do not shift pages. An unknown session is empty.
 */
export function historyPage(service: Service, c: ServiceContext) {
  const query = check(querySchema, c.req.query());
  if (!query.ok) throw invalidInput(query.fields);
  const { source_id, session_id, after_message_id } = query.value;
  const size = pageSizeOf(service, c);
  checkSource(c.get('token'), source_id);
  requireSource(service, source_id);
  const { world } = service.store;
  const session = world.session(source_id, session_id);
  const ignoresSession = c.env.shaped?.ignoresSession ?? false;
  const all = ignoresSession ? world.messagesOf(source_id) : (session?.messages ?? []);
  const messages = visibleItems(service, c, all);
  const start = startOf(session, after_message_id);
  const quirk = c.get('quirk');
  const end = start + pageLength(messages, start, size, quirk);
  const last = end < messages.length ? messages[end - 1] : undefined;
  const nextQuery = last && { source_id, session_id, after_message_id: last.message_id, page_size: String(size) };
  return {
    next: nextQuery ? `${service.origin}${c.req.path}?${new URLSearchParams(nextQuery)}` : null,
    previous: null,
    results: withQuirk(messages, start, end, quirk),
  };
}
