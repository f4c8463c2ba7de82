import type { Http } from '../api/http.ts';
import type { Message } from '../contract/messages.ts';
import { NoReplyError, PartnerctlError, withHint } from '../errors.ts';
import { formatDuration } from '../platform/clock.ts';
import { type ChatContext, followDeps } from './context.ts';
import type { SessionEvent } from './follow-session.ts';
import type { SessionRef } from './session.ts';
import { findSource, parseSource, type SourceOptions } from './source.ts';
import { hintAtMessage } from './tail.ts';
import { explainUnrecognized } from './unrecognized-author.ts';
import { type ReplyCriteria, type ReplyTarget, type WaitOutcome, waitForReplies, wantedCount } from './wait.ts';

const CHECK_AFTER = 'Check --after: it must be the message_id of a message of this session, as `chat send` printed it.';
const DEFAULT_WAIT_MS = 120_000;

/** The flags of the criteria, to type them again. */
export function criteriaFlags({ replies, settle }: ReplyCriteria): readonly string[] {
  const counted = replies === undefined ? [] : ['--replies', String(replies)];
  return settle === undefined ? counted : [...counted, '--settle', formatDuration(settle)];
}

/** Whether more than the first reply may be waited for. */
export function isForSeveral({ replies, settle }: ReplyCriteria): boolean {
  return replies !== undefined || settle !== undefined;
}

function describeShortfall(received: number, criteria: ReplyCriteria, limitMs: number): string {
  const { settle } = criteria;
  const count = wantedCount(criteria);
  const limit = formatDuration(limitMs);
  if (settle !== undefined && received > 0 && !Number.isFinite(count)) {
    const replies = received === 1 ? '1 reply' : `${received} replies`;
    return `${replies} came, but the session was not quiet for ${formatDuration(settle)} within ${limit}.`;
  }
  if (!Number.isFinite(count) || count === 1) return `No reply came within ${limit}.`;
  return `${received} of ${count} replies came within ${limit}.`;
}

interface Wait {
  readonly context: ChatContext;
  readonly http: Http;
  readonly target: ReplyTarget;
  readonly criteria: ReplyCriteria;
  /** Added to the details of an error. */
  readonly ids?: object | undefined;
}

/** What continues a wait, and how far it came. */
function continuationOf({ context, target, criteria, ids }: Wait, { replies }: WaitOutcome) {
  const { source_id, session_id, isJustRegistered } = target;
  const count = wantedCount(criteria);
  const missing = Number.isFinite(count) ? count - replies.length : null;
  const last_message_id = replies.at(-1)?.message_id ?? target.after_message_id;
  const session = ['--source', source_id, '--session', session_id, '--after', last_message_id];
  const isOne = missing === null || (missing === 1 && criteria.settle === undefined);
  const flags = criteriaFlags({ replies: isOne ? undefined : missing, settle: criteria.settle });
  const command = context.command(['chat', 'wait', ...session, ...flags]);
  return {
    hint: `${isJustRegistered ? 'The message is registered. ' : ''}To keep waiting: ${command}`,
    details: { source_id, session_id, ...ids, replies: replies.length, missing, last_message_id },
  };
}

/** The last failure, for scripts. */
function lastErrorJson({ type, message, info }: PartnerctlError) {
  const { status = null, code = null, requestId: request_id = null } = info;
  return { type, message, status, code, request_id };
}

function noReplyError(wait: Wait, outcome: WaitOutcome, limitMs: number): NoReplyError {
  const { context, http, criteria } = wait;
  const { replies, unrecognized, lastError } = outcome;
  const { hint, details } = continuationOf(wait, outcome);
  const doubt = replies.length === 0 ? explainUnrecognized(unrecognized, http.contract, context.command) : undefined;
  return new NoReplyError(describeShortfall(replies.length, criteria, limitMs), {
    why: doubt?.why ?? lastError?.message,
    hint: [doubt?.hint ?? lastError?.info.hint, hint].filter((line) => line !== undefined).join('\n'),
    details: lastError ? { ...details, last_error: lastErrorJson(lastError) } : details,
    cause: lastError,
  });
}

/** The error to report if not all replies came: it names the command that waits for the rest. */
function createFailure(wait: Wait, outcome: WaitOutcome, limitMs: number): PartnerctlError | undefined {
  const { end, replies } = outcome;
  const { context, target, criteria } = wait;
  if (end === 'replied') return undefined;
  if (end === 'timeout') return noReplyError(wait, outcome, limitMs);
  if (end instanceof PartnerctlError && replies.length === 0 && !target.isJustRegistered) return end;
  const { hint, details } = continuationOf(wait, outcome);
  const missing = details.missing === null ? '' : `; missing: ${details.missing}`;
  const progress = isForSeveral(criteria) ? `Replies: ${replies.length}${missing}. ` : '';
  return withHint(end instanceof PartnerctlError ? end : context.signals.interrupt.reason, {
    hint: progress + hint,
    details,
  });
}

/** The replies that came, and the error to report (exit code 11 for a timeout) if not all did. */
interface Waited {
  readonly replies: readonly Message[];
  readonly failure: PartnerctlError | undefined;
}

/**
 * Waits for replies, for --timeout or 2 minutes.
 * @param onNotice called with the events besides messages
 */
export async function awaitReplies(
  context: ChatContext,
  http: Http,
  { criteria, ids, ...target }: ReplyTarget & Pick<Wait, 'criteria' | 'ids'>,
  onNotice: (event: SessionEvent) => Promise<void>,
): Promise<Waited> {
  const { timeout } = context.flags;
  const deps = followDeps(context, http, timeout === undefined ? DEFAULT_WAIT_MS : undefined);
  context.progress.start('Waiting for the reply', deps.remainingMs());
  const outcome = await waitForReplies(deps, target, criteria, onNotice);
  const failure = createFailure({ context, http, target, criteria, ids }, outcome, timeout ?? DEFAULT_WAIT_MS);
  return { replies: outcome.replies, failure };
}

/**
 * Waits for replies to a message that was sent earlier.
 * @throws UsageError as `parseSource`; as `findSource`
 */
export async function awaitEarlier(
  context: ChatContext,
  options: SourceOptions,
  target: Omit<ReplyTarget, 'source_id' | 'isJustRegistered'> & { readonly criteria: ReplyCriteria },
  onNotice: (event: SessionEvent) => Promise<void>,
): Promise<Waited & SessionRef> {
  const source = parseSource(options);
  const http = await context.http();
  const source_id = await findSource(http, source, context.command);
  const { after_message_id } = target;
  const wanted = { ...target, source_id, isJustRegistered: false, ids: { after_message_id } };
  const { replies, failure } = await awaitReplies(context, http, wanted, onNotice);
  const hinted = failure && hintAtMessage(failure, CHECK_AFTER);
  return { source_id, session_id: target.session_id, replies, failure: hinted };
}
