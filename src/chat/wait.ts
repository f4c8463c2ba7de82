import type { Http } from '../api/http.ts';
import type { Message } from '../contract/messages.ts';
import { isUnexpectedShape, NoReplyError, PartnerctlError, withHint } from '../errors.ts';
import { formatDuration } from '../platform/clock.ts';
import { type ChatContext, followDeps } from './context.ts';
import { Follower } from './follow.ts';
import type { SessionEvent } from './follow-session.ts';
import type { SessionRef } from './session.ts';
import { explainUnrecognized, isUnrecognized } from './unrecognized-author.ts';

/** Which replies to wait for: --replies and --settle. Without both, the first one. */
export interface ReplyCriteria {
  readonly replies?: number | undefined;
  /** How long it must be quiet after a reply, in milliseconds. */
  readonly settle?: number | undefined;
}

/** The message to wait for replies to. */
export interface ReplyTarget extends SessionRef {
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
  const { source_id, session_id, criteria, ids } = target;
  const missing = criteria.replies === undefined ? undefined : criteria.replies - replies.length;
  const last_message_id = replies.at(-1)?.message_id ?? target.after_message_id;
  const session = ['--source', source_id, '--session', session_id, '--after', last_message_id];
  const flags = criteriaFlags({ ...criteria, replies: missing });
  return {
    hint: `To keep waiting: ${command(['chat', 'wait', ...session, ...flags])}`,
    details: { source_id, session_id, ...ids, replies: replies.length, missing: missing ?? null, last_message_id },
  };
}

/** What has come so far. */
class Received {
  readonly replies: Message[] = [];
  /** The first message that may be a reply, but whose author is not recognized. */
  unrecognized: Message | undefined;
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
      else if (isUnrecognized(event.message)) this.unrecognized ??= event.message;
      this.isComplete = this.replies.length >= wantedCount(this.criteria);
    } else if (event.kind === 'polled' && settle !== undefined && this.replies.length > 0) {
      // A poll that began earlier may have missed what came since.
      this.isComplete = event.isQuiet && event.at >= this.changedAt + settle;
    }
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
  const end = (failure?: PartnerctlError): Waited => ({
    replies,
    failure: failure && withHint(failure, continuationOf(context, target, replies)),
  });
  try {
    const start = { from: 'after', message_id: after_message_id } as const;
    for await (const event of follower.follow({ source_id, session_id }, start)) {
      received.add(event, clock.now());
      if (received.isComplete) return end();
      if (event.kind === 'outage' && isUnexpectedShape(event.error)) return end(event.error);
      if (event.kind !== 'message') await onNotice(event);
    }
  } catch (error) {
    if (error instanceof PartnerctlError) return end(error);
    throw error;
  }
  const interrupted: unknown = signals.interrupt.reason;
  if (interrupted instanceof PartnerctlError) return end(interrupted);
  const { lastError } = follower.health;
  if (isUnexpectedShape(lastError)) return end(lastError);
  const limit = formatDuration(limitMs);
  if (replies.length > 0) return end(new NoReplyError(`Only ${replies.length} of the replies came within ${limit}.`));
  const { why, hint } = received.unrecognized
    ? explainUnrecognized(received.unrecognized, http.contract, context.command)
    : { why: lastError?.message, hint: lastError?.info.hint };
  return end(new NoReplyError(`No reply came within ${limit}.`, { why, hint, cause: lastError }));
}
