import type { Http } from '../api/http.ts';
import type { Message } from '../contract/messages.ts';
import { isUnexpectedShape, NoReplyError, PartnerctlError, withHint } from '../errors.ts';
import { type Clock, formatDuration } from '../platform/clock.ts';
import { type ChatContext, followDeps } from './context.ts';
import { Follower } from './follow.ts';
import type { SessionEvent } from './follow-session.ts';
import type { SessionRef } from './session.ts';
import { findSource, parseSource, type SourceOptions } from './source.ts';
import { hintAtMessage } from './tail.ts';
import { explainUnrecognized, isUnrecognized } from './unrecognized-author.ts';

/** Which replies to wait for: --replies and --settle. Without both, the first one. */
export interface ReplyCriteria {
  readonly replies?: number | undefined;
  /** How long it must be quiet after a reply, in milliseconds. */
  readonly settle?: number | undefined;
}

/** The message to wait for replies to. */
interface ReplyTarget extends SessionRef {
  readonly after_message_id: string;
  /** Whether it was just registered, so that the history may not have it yet. */
  readonly isJustRegistered: boolean;
  readonly criteria: ReplyCriteria;
  /** Added to the details of an error. */
  readonly ids: object;
}

/** The replies that came, and the error to report (exit code 11 for a timeout) if not all did. */
interface Waited {
  readonly replies: readonly Message[];
  readonly failure: PartnerctlError | undefined;
}

const CHECK_AFTER = 'Check --after: it must be the message_id of a message of this session, as `chat send` printed it.';
const DEFAULT_WAIT_MS = 120_000;
/** How long the history may lack a message that was just registered. */
const REGISTRATION_LAG_MS = 10_000;

/** How many replies end a wait. Infinity if only a quiet period does. */
function wantedCount({ replies, settle }: ReplyCriteria): number {
  return replies ?? (settle === undefined ? 1 : Number.POSITIVE_INFINITY);
}

/** The flags of the criteria, to type them again. */
export function criteriaFlags({ replies, settle }: ReplyCriteria): readonly string[] {
  const counted = replies === undefined ? [] : ['--replies', String(replies)];
  return settle === undefined ? counted : [...counted, '--settle', formatDuration(settle)];
}

/** Whether more than the first reply may be waited for. */
export function isForSeveral({ replies, settle }: ReplyCriteria): boolean {
  return replies !== undefined || settle !== undefined;
}

/** What continues a wait, and how far it came. */
function continuationOf({ command }: ChatContext, target: ReplyTarget, replies: readonly Message[]) {
  const { source_id, session_id, isJustRegistered, criteria, ids } = target;
  const count = wantedCount(criteria);
  const missing = Number.isFinite(count) ? count - replies.length : null;
  const last_message_id = replies.at(-1)?.message_id ?? target.after_message_id;
  const session = ['--source', source_id, '--session', session_id, '--after', last_message_id];
  const isOne = missing === null || (missing === 1 && criteria.settle === undefined);
  const flags = criteriaFlags({ replies: isOne ? undefined : missing, settle: criteria.settle });
  return {
    hint: `${isJustRegistered ? 'The message is registered. ' : ''}To keep waiting: ${command(['chat', 'wait', ...session, ...flags])}`,
    details: { source_id, session_id, ...ids, replies: replies.length, missing, last_message_id },
  };
}

function describeShortfall(received: number, criteria: ReplyCriteria, limitMs: number): string {
  const { settle } = criteria;
  const limit = formatDuration(limitMs);
  const count = wantedCount(criteria);
  if (Number.isFinite(count) && count > 1) return `${received} of ${count} replies came within ${limit}.`;
  if (received === 0 || settle === undefined) return `No reply came within ${limit}.`;
  const replies = received === 1 ? '1 reply' : `${received} replies`;
  return `${replies} came, but the session was not quiet for ${formatDuration(settle)} within ${limit}.`;
}

/** What has come so far. */
class Received {
  readonly replies: Message[] = [];
  /** Messages that may be replies, but whose author is not recognized. */
  readonly unrecognized: Message[] = [];
  /** Whether all replies came. */
  isComplete = false;
  private readonly criteria: ReplyCriteria;
  private changedAt: number;

  constructor(criteria: ReplyCriteria, now: number) {
    this.criteria = criteria;
    this.changedAt = now;
  }

  add(event: SessionEvent, now: number): void {
    const { settle } = this.criteria;
    if (event.kind === 'message') {
      this.changedAt = now;
      if (event.message.isReply) this.replies.push(event.message);
      else if (isUnrecognized(event.message)) this.unrecognized.push(event.message);
      this.isComplete = this.replies.length >= wantedCount(this.criteria);
    } else if (event.kind === 'polled' && settle !== undefined && this.replies.length > 0) {
      // A poll that began earlier may have missed what came since.
      this.isComplete = event.isQuiet && event.at >= this.changedAt + settle;
    }
  }
}

/** Reads events until all replies came, or none can be read. @returns the error that ended it */
async function receive(
  received: Received,
  events: AsyncIterable<SessionEvent>,
  clock: Clock,
  onNotice: (event: SessionEvent) => Promise<void>,
): Promise<PartnerctlError | undefined> {
  try {
    for await (const event of events) {
      received.add(event, clock.now());
      if (received.isComplete || (event.kind === 'outage' && isUnexpectedShape(event.error))) break;
      if (event.kind !== 'message') await onNotice(event);
    }
    return undefined;
  } catch (error) {
    if (error instanceof PartnerctlError) return error;
    throw error;
  }
}

/**
 * Waits for replies, for --timeout or 2 minutes; those that already exist count.
 * @param onNotice called with the events besides messages
 */
export async function awaitReplies(
  context: ChatContext,
  http: Http,
  target: ReplyTarget,
  onNotice: (event: SessionEvent) => Promise<void>,
): Promise<Waited> {
  const { clock, flags, signals, progress } = context;
  const { source_id, session_id, after_message_id, criteria, isJustRegistered } = target;
  const limitMs = flags.timeout ?? DEFAULT_WAIT_MS;
  const deps = followDeps(context, http, flags.timeout === undefined ? limitMs : undefined);
  progress.start('Waiting for the reply', deps.remainingMs());
  const follower = new Follower(deps, { lagsUntil: isJustRegistered ? clock.now() + REGISTRATION_LAG_MS : 0 });
  const received = new Received(criteria, clock.now());
  const { replies } = received;
  const events = follower.follow({ source_id, session_id }, { from: 'after', message_id: after_message_id });
  const thrown = await receive(received, events, clock, onNotice);
  if (received.isComplete) return { replies, failure: undefined };
  const { lastError } = follower.health;
  const interrupted: unknown = signals.interrupt.reason;
  const stopped = interrupted instanceof PartnerctlError ? interrupted : undefined;
  const end = thrown ?? stopped ?? (isUnexpectedShape(lastError) ? lastError : undefined);
  // The same wait would fail again.
  if (end && end === thrown && replies.length === 0 && !isJustRegistered) return { replies, failure: end };
  const more = continuationOf(context, target, replies);
  if (end) return { replies, failure: withHint(end, more) };
  const doubts = replies.length === 0 ? received.unrecognized : [];
  const { why, hint } = explainUnrecognized(doubts, http.contract, context.command) ?? {
    why: lastError?.message,
    hint: lastError?.info.hint,
  };
  const message = describeShortfall(replies.length, criteria, limitMs);
  return { replies, failure: withHint(new NoReplyError(message, { why, hint, cause: lastError }), more) };
}

/**
 * Waits for replies to a message that was sent earlier.
 * @throws UsageError as `parseSource`; as `findSource`
 */
export async function awaitEarlier(
  context: ChatContext,
  options: SourceOptions,
  target: Pick<ReplyTarget, 'session_id' | 'after_message_id' | 'criteria'>,
  onNotice: (event: SessionEvent) => Promise<void>,
): Promise<Waited & SessionRef> {
  const source = parseSource(options);
  const http = await context.http();
  const source_id = await findSource(http, source, context.command);
  const { session_id, after_message_id } = target;
  const wanted = { ...target, source_id, isJustRegistered: false, ids: { after_message_id } };
  const { replies, failure } = await awaitReplies(context, http, wanted, onNotice);
  return { source_id, session_id, replies, failure: failure && hintAtMessage(failure, CHECK_AFTER) };
}
