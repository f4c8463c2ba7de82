import type { Http } from '../../../api/http.ts';
import type { FormatCommand } from '../../../chat/source.ts';
import { explainUnrecognized } from '../../../chat/unrecognized-author.ts';
import type { ReplyCriteria, ReplyTarget, WaitOutcome } from '../../../chat/wait.ts';
import type { Args, FlagSpec } from '../../../cli/command.ts';
import type { Context } from '../../../cli/context.ts';
import type { Contract } from '../../../contract/contract.ts';
import { InterruptedError, NoReplyError, PartnerctlError, withHint } from '../../../errors.ts';
import { toErrorObject } from '../../../output/error-object.ts';
import { formatDuration } from '../../../platform/clock.ts';
import { writeNotice } from './message-output.ts';
import { commandFormatter, followDeps } from './session-flags.ts';

const DEFAULT_WAIT_MS = 120_000;
const MAX_REPLIES = 1_000;

export const REPLY_FLAGS: readonly FlagSpec[] = [
  { usage: '--replies <n>', description: 'wait for n replies' },
  { usage: '--settle <duration>', description: 'wait until no message came for this long after a reply' },
];

/** The criteria as typed. */
export interface TypedCriteria extends ReplyCriteria {
  /** --replies and --settle. */
  readonly flags: readonly string[];
}

/** Parses --replies and --settle; one reply by default. @throws UsageError */
export function parseReplyCriteria(args: Args): TypedCriteria {
  const settleMs = args.duration('settle');
  const replies = args.count('replies', { min: 1, max: MAX_REPLIES, fallback: 1 });
  const isCounted = args.value('replies') !== undefined;
  const flags = ['replies', 'settle'].flatMap((flag) => {
    const value = args.value(flag);
    return value === undefined ? [] : [`--${flag}`, value];
  });
  return { count: settleMs !== undefined && !isCounted ? Number.POSITIVE_INFINITY : replies, settleMs, flags };
}

function describeShortfall(received: number, { count, settleMs }: ReplyCriteria, limitMs: number): string {
  const limit = formatDuration(limitMs);
  if (settleMs !== undefined && received > 0 && !Number.isFinite(count)) {
    const replies = received === 1 ? '1 reply' : `${received} replies`;
    return `${replies} came, but the session was not quiet for ${formatDuration(settleMs)} within ${limit}.`;
  }
  if (!Number.isFinite(count) || count === 1) return `No reply came within ${limit}.`;
  return `${received} of ${count} replies came within ${limit}.`;
}

interface Wait {
  readonly target: ReplyTarget;
  readonly criteria: TypedCriteria;
  /** Added to the details of an error. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly limitMs: number;
  readonly contract: Contract;
  readonly toCommand: FormatCommand;
  /** Why the wait was interrupted. */
  readonly interruption: unknown;
}

/** The command that waits for the missing replies. @param missing null if only a quiet period ends the wait */
function waitCommand({ target, criteria, toCommand }: Wait, after: string, missing: number | null): string {
  const { source_id, session_id } = target;
  const args = ['chat', 'wait', '--source', source_id, '--session', session_id, '--after', after];
  if (missing !== null && (missing > 1 || criteria.settleMs !== undefined)) args.push('--replies', String(missing));
  if (criteria.settleMs !== undefined) args.push('--settle', formatDuration(criteria.settleMs));
  return toCommand(args);
}

function noReplyError(
  { replies, unrecognized, lastError }: WaitOutcome,
  { criteria, limitMs, contract, toCommand }: Wait,
  { hint, details }: { readonly hint: string; readonly details: object },
): NoReplyError {
  const doubt = replies.length === 0 ? explainUnrecognized(unrecognized, contract, toCommand) : undefined;
  return new NoReplyError(describeShortfall(replies.length, criteria, limitMs), {
    why: doubt?.why ?? lastError?.message,
    hint: [doubt?.hint ?? lastError?.info.hint, hint].filter((line) => line !== undefined).join('\n'),
    details: lastError ? { ...details, last_error: toErrorObject(lastError) } : details,
    cause: lastError,
  });
}

/** The error to report if not all replies came: it names the command that waits for the rest. */
function createFailure(outcome: WaitOutcome, wait: Wait): PartnerctlError | undefined {
  const { replies, end } = outcome;
  const { target, criteria, interruption } = wait;
  if (end === 'replied') return undefined;
  const received = replies.length;
  if (end instanceof PartnerctlError && received === 0 && !target.isJustRegistered) return end;
  const missing = Number.isFinite(criteria.count) ? criteria.count - received : null;
  const last_message_id = replies.at(-1)?.message_id ?? target.after_message_id;
  const registered = target.isJustRegistered ? 'The message is registered. ' : '';
  const hint = `${registered}To keep waiting: ${waitCommand(wait, last_message_id, missing)}`;
  const details = { source_id: target.source_id, ...wait.details, replies: received, missing, last_message_id };
  if (end === 'timeout') return noReplyError(outcome, wait, { hint, details });
  const interrupted = interruption instanceof InterruptedError ? interruption : new InterruptedError('Interrupted.');
  const progress = `Replies: ${received}${missing === null ? '' : `; missing: ${missing}`}. `;
  const error = end instanceof PartnerctlError ? end : interrupted;
  return withHint(error, { hint: criteria.flags.length > 0 ? progress + hint : hint, details });
}

/**
 * Waits for replies, for --timeout or 2 minutes.
 * @param details added to the details of an error
 * @returns the replies that came, and the error to report (exit code 11 for a timeout) if not all did
 */
export async function awaitReplies(
  context: Context,
  http: Http,
  target: ReplyTarget,
  { criteria, details }: Pick<Wait, 'criteria' | 'details'>,
): Promise<Pick<WaitOutcome, 'replies'> & { readonly failure: PartnerctlError | undefined }> {
  const { timeout: timeoutMs } = context.flags;
  const deps = followDeps(context, http, timeoutMs === undefined ? DEFAULT_WAIT_MS : undefined);
  const { waitForReplies } = await import('../../../chat/wait.ts');
  context.progress.start('Waiting for the reply', deps.remainingMs());
  const outcome = await waitForReplies(deps, target, criteria, (event) => writeNotice(context, event));
  const failure = createFailure(outcome, {
    target,
    criteria,
    details,
    limitMs: timeoutMs ?? DEFAULT_WAIT_MS,
    contract: http.contract,
    toCommand: commandFormatter(context),
    interruption: context.signals.interrupt.reason,
  });
  return { replies: outcome.replies, failure };
}
