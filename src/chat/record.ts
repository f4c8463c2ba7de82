import { Document, isMap, type Node } from 'yaml';
import type { Http } from '../api/http.ts';
import type { SessionRef } from '../contract/messages.ts';
import { NotFoundError } from '../errors.ts';
import type { SessionEvent } from './follow.ts';
import { incompleteHistory } from './health.ts';
import type { ChatContext } from './session.ts';
import { tail } from './tail.ts';

/** A message of the user, and the texts of the replies to it. */
export interface RecordedTurn {
  readonly say: string;
  readonly replies: readonly string[];
}

/**
 * Reads a session, which is no tail of it: --resume continues where it would have. What an agent says before the first
 * message of the user is left out.
 * @param onNotice called with each event, such as an outage
 * @throws as `tail`; ShapeError if the session may have more messages
 */
export async function readTurns(
  context: ChatContext,
  http: Http,
  session: SessionRef,
  onNotice: (event: SessionEvent) => Promise<void>,
): Promise<readonly RecordedTurn[]> {
  const turns: { say: string; replies: string[] }[] = [];
  const options = { start: { from: 'start' }, once: true, isRecorded: false } as const;
  for await (const event of tail(context, http, [session], options)) {
    if (event.kind === 'gap') throw incompleteHistory(session.session_id, event.evidence);
    await onNotice(event);
    if (event.kind !== 'message' || event.message.text === null) continue;
    const text = context.redactor.redact(event.message.text);
    if (event.message.isReply) turns.at(-1)?.replies.push(text);
    else if (event.message.role === 'user') turns.push({ say: text, replies: [] });
  }
  if (turns.length > 0) return turns;
  throw new NotFoundError(`Session ${session.session_id} has no message of a user.`, {
    hint: 'A test begins with one: send it with `partnerctl chat send`.',
  });
}

/** The comment before an item of a list. */
function comment(node: Node | undefined, text: string): void {
  if (node) node.commentBefore = text.replace(/^/gm, ' ');
}

/**
 * Formats a conversation as a test. What the agent said is a comment, and each expectation is empty: a test that nobody
 * thought about fails.
 */
export function formatConversation(turns: readonly RecordedTurn[]): string {
  const document = new Document({
    turns: turns.map(({ say, replies }) => ({
      say,
      ...(replies.length > 1 && { replies: replies.length }),
      ...(replies.length > 0 && { expect: replies.map(() => ({ contains: '' })) }),
    })),
  });
  for (const [index, { replies }] of turns.entries()) {
    const turn = document.getIn(['turns', index], true);
    if (replies.length === 0 && isMap(turn)) comment(turn, 'No reply came.');
    for (const [number, reply] of replies.entries()) {
      const item = document.getIn(['turns', index, 'expect', number], true);
      if (isMap(item)) comment(item, `equals: ${JSON.stringify(reply)}`);
    }
  }
  return document.toString({ lineWidth: 0 });
}
