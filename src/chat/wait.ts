import { MissingMessage, readHistory } from '../api/history.ts';
import type { Http } from '../api/http.ts';
import type { Message, SessionRef } from '../contract/messages.ts';
import { isUnexpectedShape, NoReplyError, PartnerctlError, RefusedError, UsageError, withHint } from '../errors.ts';
import { formatDuration } from '../platform/clock.ts';
import { Follower, type SessionEvent } from './follow.ts';
import { followSession } from './followed-session.ts';
import { incompleteHistory } from './health.ts';
import type { ChatContext } from './session.ts';
import type { FormatCommand } from './source.ts';
import { explainUnrecognized, isUnrecognized } from './unrecognized-author.ts';

/** Which replies to wait for: --replies and --settle. Without both, the first one. */
export interface ReplyCriteria {
  readonly replies?: number | undefined;
  /** How long it must be quiet after a reply, in milliseconds. */
  readonly settle?: number | undefined;
  /** Whether to read once more after the last reply, because one too many counts. */
  readonly isExact?: boolean;
}

export interface ReplyTarget extends SessionRef {
  readonly after_message_id: string;
  readonly criteria: ReplyCriteria;
  /** How long to wait, in milliseconds. */
  readonly limitMs: number;
  /** The shortest pause between two polls, in milliseconds. */
  readonly activeMs?: number;
  /** Added to the details of an error. */
  readonly ids: object;
}

const DEFAULT_WAIT_MS = 120_000;
/** Among so many of the newest messages is one that no other follows. */
const MIN_NEWEST = 20;
/** A longer history is not searched for a message. */
const MAX_SEARCHED_PAGES = 20;

/** The flags of the criteria, to type them again. */
export function criteriaFlags({ replies, settle }: ReplyCriteria): readonly string[] {
  const counted = replies === undefined ? [] : ['--replies', String(replies)];
  return settle === undefined ? counted : [...counted, '--settle', formatDuration(settle)];
}

/**
 * Returns how long a command waits, in milliseconds: for --timeout, or 2 minutes.
 * @throws UsageError if the time passes before it can have been quiet for long enough
 */
export function waitLimit({ settle = 0 }: ReplyCriteria, { timeout = DEFAULT_WAIT_MS }: ChatContext['flags']): number {
  if (settle < timeout) return timeout;
  throw new UsageError(`--settle ${formatDuration(settle)} cannot pass within --timeout ${formatDuration(timeout)}.`);
}

function withContinuation(
  failure: PartnerctlError,
  { command }: ChatContext,
  { source_id, session_id, after_message_id, criteria, ids }: ReplyTarget,
  replies: readonly Message[],
): PartnerctlError {
  const missing = criteria.replies === undefined ? undefined : criteria.replies - replies.length;
  const last_message_id = replies.at(-1)?.message_id ?? after_message_id;
  const session = ['--source', source_id, '--session', session_id, '--after', last_message_id];
  const words = ['chat', 'wait', ...session, ...criteriaFlags({ ...criteria, replies: missing })];
  const details = { source_id, session_id, ...ids, replies: replies.length, missing: missing ?? null, last_message_id };
  // What the service refuses, such as a message_id of another session, it refuses again.
  const again = failure instanceof RefusedError ? {} : { hint: `To keep waiting: ${command(words)}` };
  return withHint(failure, { ...again, details });
}

interface Received {
  readonly replies: Message[];
  /** The first message that may be a reply, but whose author is not recognized. */
  unrecognized: Message | undefined;
  changedAt: number;
  /** Whether any message came. */
  isEmpty: boolean;
}

/** Adds an event. @returns whether all replies came @throws ShapeError if waiting does not make the history readable */
function receive(received: Received, event: SessionEvent, criteria: ReplyCriteria, now: number): boolean {
  const { replies } = received;
  const { settle, isExact, replies: wanted = settle === undefined ? 1 : Number.POSITIVE_INFINITY } = criteria;
  if (event.kind === 'outage' && isUnexpectedShape(event.error)) throw event.error;
  // The first reply may be among the messages that the service has not sent.
  if (event.kind === 'gap') throw incompleteHistory(event.ref.session_id, event.evidence);
  if (event.kind === 'message') {
    received.changedAt = now;
    received.isEmpty = false;
    if (event.message.isReply) replies.push(event.message);
    else if (isUnrecognized(event.message)) received.unrecognized ??= event.message;
    return !isExact && replies.length >= wanted;
  }
  if (event.kind === 'polled' && isExact) return event.isQuiet && replies.length >= wanted;
  if (event.kind !== 'polled' || settle === undefined || replies.length === 0) return false;
  // A poll that began earlier may have missed what came since.
  return event.isQuiet && event.at >= received.changedAt + settle;
}

/** The error for replies that did not come in time. */
function noReplyError(
  { context, http, health: { lastError } }: Follower,
  { limitMs }: ReplyTarget,
  { unrecognized }: Received,
): NoReplyError {
  const { why, hint } = unrecognized
    ? explainUnrecognized(unrecognized, http.contract, context.command)
    : { why: lastError?.message, hint: lastError?.info.hint };
  return new NoReplyError(`No reply came within ${formatDuration(limitMs)}.`, { why, hint, cause: lastError });
}

function missingMessageError({ command }: ChatContext, target: ReplyTarget, cause?: MissingMessage): NoReplyError {
  const { message, hint } = explainMissing(command, target, target.after_message_id);
  const hints = [hint, cause?.info.hint].filter((each) => each !== undefined).join('\n');
  return new NoReplyError(message, {
    why: cause ? undefined : `No reply came within ${formatDuration(target.limitMs)}.`,
    hint: hints,
    cause,
  });
}

function fewRepliesError(count: number, { limitMs, criteria: { replies, settle = 0 } }: ReplyTarget): NoReplyError {
  const came = count === 1 ? '1 reply came' : `${count} replies came`;
  const limit = formatDuration(limitMs);
  return new NoReplyError(
    replies === undefined
      ? `${came} within ${limit}, but it was never quiet for ${formatDuration(settle)}.`
      : `Only ${came} of ${replies} within ${limit}.`,
  );
}

/** Says that a message that was registered is not in its history, and which commands show why. */
export function explainMissing(toCommand: FormatCommand, { session_id }: SessionRef, message_id: string) {
  const set = toCommand(['contract', 'set', 'messages.history.session_id', 'query:<name>']);
  return {
    message: `The message ${message_id} does not show in the history of session ${session_id}.`,
    hint: `If the service takes the session under another name, run: ${set}
To see all of messages.history.*, run: ${toCommand(['contract', 'show', 'messages.history'])}`,
  };
}

/** Whether the history has the message that is waited for: read after it, it would not show. True if nothing tells. */
async function hasMessage(follower: Follower, { source_id, session_id, after_message_id }: ReplyTarget) {
  const { http, signal } = follower;
  const limits = () => ({ retries: 0, timeoutMs: Math.max(1, follower.remainingMs()), signal });
  const position = { source_id, session_id, after_message_id: undefined, newest: MIN_NEWEST };
  let pages = 0;
  try {
    for await (const { messages, unexplained } of readHistory(http, position, limits)) {
      pages += 1;
      const isThere = messages.some(({ message_id }) => message_id === after_message_id);
      if (isThere || unexplained !== undefined || pages === MAX_SEARCHED_PAGES) return true;
    }
    return false;
  } catch (error) {
    if (error instanceof PartnerctlError) return true;
    throw error;
  }
}

/**
 * Waits for replies; those that already exist count.
 * @param onNotice called with the events besides messages
 * @returns the replies that came, and the error to report (exit code 11 for a timeout) if not all did; `outage`: why the
 *   history could not be read in the end
 */
export async function awaitReplies(
  context: ChatContext,
  http: Http,
  target: ReplyTarget,
  onNotice: (event: SessionEvent) => Promise<void>,
): Promise<{
  readonly replies: readonly Message[];
  readonly failure?: PartnerctlError;
  readonly outage?: PartnerctlError | undefined;
}> {
  const { clock, signals } = context;
  const { source_id, session_id, after_message_id: message_id, criteria, limitMs, activeMs } = target;
  const follower = new Follower(context, http, { limitMs, activeMs });
  const received: Received = { replies: [], unrecognized: undefined, changedAt: clock.now(), isEmpty: true };
  const { replies } = received;
  const halfMs = follower.remainingMs() / 2;
  let isShown: boolean | undefined;
  const events = follower.events<SessionEvent>((emit) =>
    followSession(follower, { source_id, session_id }, { from: 'after', message_id }, emit),
  );
  try {
    for await (const event of events) {
      if (receive(received, event, criteria, clock.now())) return { replies };
      await onNotice(event);
      // An agent that is only slow costs no request.
      if (event.kind !== 'polled' || !received.isEmpty || isShown || follower.remainingMs() > halfMs) continue;
      isShown = await hasMessage(follower, target);
    }
    signals.interrupt.throwIfAborted();
    // The time was up before another look could show that no more follow.
    if (criteria.isExact && replies.length >= (criteria.replies ?? 1)) return { replies };
    const { lastError } = follower.health;
    if (isUnexpectedShape(lastError)) throw lastError;
    if (isShown === false && received.isEmpty) throw missingMessageError(context, target);
    if (replies.length > 0) throw fewRepliesError(replies.length, target);
    throw noReplyError(follower, target, received);
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    const failure = error instanceof MissingMessage ? missingMessageError(context, target, error) : error;
    const { lastError: outage } = follower.health;
    return { replies, failure: withContinuation(failure, context, target, replies), outage };
  }
}
