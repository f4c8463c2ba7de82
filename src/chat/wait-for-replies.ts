import type { Http } from '../api/http.ts';
import type { Args, FlagSpec } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import { formatDuration } from '../clock.ts';
import type { Contract } from '../contract/contract.ts';
import type { Message } from '../contract/messages.ts';
import { InterruptedError, NoReplyError, PartnerctlError, withHint } from '../errors.ts';
import { toErrorObject } from '../output/error-object.ts';
import type { FoundSource } from './find-source.ts';
import { isNotice, writeFollowNotice } from './format-message.ts';
import { explainUnrecognized, isUnrecognized } from './unrecognized-author.ts';

const DEFAULT_WAIT_MS = 120_000;
const MAX_REPLIES = 1_000;

export const REPLY_FLAGS: readonly FlagSpec[] = [
  { usage: '--replies <n>', description: 'wait for n replies' },
  { usage: '--settle <duration>', description: 'wait until no message came for this long after a reply' },
];

/** Which replies to wait for. */
export interface ReplyCriteria {
  /** Infinity if only a quiet period ends the wait. */
  readonly count: number;
  /** How long it must be quiet, in milliseconds and as typed. */
  readonly settle: { readonly ms: number; readonly typed: string } | undefined;
  /** Whether --replies or --settle was given. */
  readonly isExplicit: boolean;
}

/** Parses --replies and --settle; one reply by default. @throws UsageError */
export function parseReplyCriteria(args: Args): ReplyCriteria {
  const ms = args.duration('settle');
  const typed = args.value('settle');
  const replies = args.count('replies', { min: 1, max: MAX_REPLIES, fallback: 1 });
  const hasCount = args.value('replies') !== undefined;
  const settle = ms === undefined || typed === undefined ? undefined : { ms, typed };
  return {
    count: settle && !hasCount ? Number.POSITIVE_INFINITY : replies,
    settle,
    isExplicit: hasCount || settle !== undefined,
  };
}

/** What to wait for replies to. */
export interface ReplyTarget {
  readonly source: FoundSource;
  readonly session_id: string;
  /** The message after which replies count. */
  readonly after: string;
  /** Whether that message was just registered. */
  readonly isJustRegistered: boolean;
  /** Added to the details of an error. */
  readonly details: Readonly<Record<string, unknown>>;
}

interface ReceivedMessages {
  readonly replies: Message[];
  /** The messages that may be replies, but whose author is not recognized. */
  readonly unrecognized: Message[];
}

interface WaitOutcome extends ReceivedMessages {
  /** The source that was followed in the end. */
  readonly source_id: string;
  /** `replied`: all replies came; otherwise what ended the wait. */
  readonly end: 'replied' | 'timeout' | 'interrupted' | PartnerctlError;
  /** The last failure, if the history could not be read at the end. */
  readonly lastError: PartnerctlError | undefined;
}

/** The command that waits for the missing replies. */
function waitCommand(
  source_id: string,
  { session_id, after }: Pick<ReplyTarget, 'session_id' | 'after'>,
  missing: number,
  { settle }: ReplyCriteria,
): string[] {
  const args = ['chat', 'wait', '--source', source_id, '--session', session_id, '--after', after];
  if (Number.isFinite(missing) && (missing > 1 || settle)) args.push('--replies', String(missing));
  if (settle) args.push('--settle', settle.typed);
  return args;
}

function describeShortfall(received: number, { count, settle }: ReplyCriteria, limitMs: number): string {
  const limit = formatDuration(limitMs);
  if (settle && received > 0 && !Number.isFinite(count)) {
    const replies = received === 1 ? '1 reply' : `${received} replies`;
    return `${replies} came, but the session was not quiet for ${settle.typed} within ${limit}.`;
  }
  if (!Number.isFinite(count) || count === 1) return `No reply came within ${limit}.`;
  return `${received} of ${count} replies came within ${limit}.`;
}

/** The error to report if not all replies came: it names the command that waits for the rest. */
function createFailure(
  { source_id, replies, end, lastError, unrecognized }: WaitOutcome,
  { target, criteria, contract }: { target: ReplyTarget; criteria: ReplyCriteria; contract: Contract },
  context: Context,
): PartnerctlError | undefined {
  if (end === 'replied') return undefined;
  const received = replies.length;
  if (end instanceof PartnerctlError && received === 0 && !target.isJustRegistered) return end;
  const missing = criteria.count - received;
  const last = replies.at(-1)?.message_id ?? target.after;
  const missingOrNull = Number.isFinite(missing) ? missing : null;
  const details = { source_id, ...target.details, replies: received, missing: missingOrNull, last_message_id: last };
  const preface = target.isJustRegistered ? 'The message is registered. ' : '';
  const resumed = { session_id: target.session_id, after: last };
  const command = shellCommand(waitCommand(source_id, resumed, missing, criteria), context.flags);
  const hint = `${preface}To keep waiting: ${command}`;
  if (end === 'timeout') {
    const doubt = received === 0 ? explainUnrecognized(unrecognized, contract, context.flags) : undefined;
    return new NoReplyError(describeShortfall(received, criteria, context.flags.timeoutMs ?? DEFAULT_WAIT_MS), {
      why: doubt?.why ?? lastError?.message,
      hint: [doubt?.hint ?? lastError?.info.hint, hint].filter((line) => line !== undefined).join('\n'),
      details: lastError ? { ...details, last_error: toErrorObject(lastError) } : details,
      cause: lastError,
    });
  }
  const { reason } = context.signals.interrupt;
  const interrupted = reason instanceof InterruptedError ? reason : new InterruptedError('Interrupted.');
  const progress = missingOrNull === null ? `Replies: ${received}. ` : `Replies: ${received}; missing: ${missing}. `;
  const error = end instanceof PartnerctlError ? end : interrupted;
  return withHint(error, { hint: criteria.isExplicit ? progress + hint : hint, details });
}

function addMessage({ replies, unrecognized }: ReceivedMessages, message: Message): void {
  if (message.isReply) replies.push(message);
  else if (isUnrecognized(message)) unrecognized.push(message);
}

/** Replies that already exist count. */
async function collectReplies(
  context: Context,
  http: Http,
  target: ReplyTarget,
  { count, settle }: ReplyCriteria,
): Promise<WaitOutcome> {
  const { clock, random, signals, flags } = context;
  const { followSource } = await import('./follow-source.ts');
  let { source_id } = target.source;
  const { session_id, after } = target;
  const { events } = followSource(
    { http, clock, random, interrupt: signals.interrupt },
    {
      sessions: [{ source_id, session_id, start: { from: 'after', message_id: after } }],
      renew: target.source.renew,
      follow: true,
      timeoutMs: flags.timeoutMs === undefined ? DEFAULT_WAIT_MS : undefined,
      until: { replies: count, settleMs: settle?.ms },
      expectsReply: true,
      isJustRegistered: target.isJustRegistered,
    },
  );
  const received: ReceivedMessages = { replies: [], unrecognized: [] };
  let unknownSession: PartnerctlError | undefined;
  try {
    for await (const event of events) {
      if (event.kind === 'message') {
        unknownSession = undefined;
        addMessage(received, event.message);
      } else if (event.kind === 'end') {
        const end = event.reason === 'caught-up' ? 'replied' : event.reason;
        return { ...received, source_id, end, lastError: event.error ?? unknownSession };
      } else if (event.kind === 'source-changed') {
        ({ source_id } = event);
      } else if (isNotice(event)) {
        if (event.kind === 'unknown-session') unknownSession = event.error;
        await writeFollowNotice(context, event);
      }
    }
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    return { ...received, source_id, end: error, lastError: error };
  }
  throw new Error('follow() ended without an end event');
}

/**
 * Waits for replies, for --timeout or 2 minutes.
 * @returns the replies that came, and the error to report (exit code 11 for a timeout) if not all did
 */
export async function waitForReplies(
  context: Context,
  http: Http,
  target: ReplyTarget,
  criteria: ReplyCriteria,
): Promise<Pick<WaitOutcome, 'source_id' | 'replies'> & { readonly failure: PartnerctlError | undefined }> {
  const isLimited = context.flags.timeoutMs !== undefined;
  context.progress.start('Waiting for the reply', isLimited ? http.remainingMs() : DEFAULT_WAIT_MS);
  const outcome = await collectReplies(context, http, target, criteria);
  return {
    source_id: outcome.source_id,
    replies: outcome.replies,
    failure: createFailure(outcome, { target, criteria, contract: http.contract }, context),
  };
}
