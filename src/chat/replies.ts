import type { Http } from '../api/http.ts';
import type { Args, FlagSpec } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import type { Message } from '../contract/messages.ts';
import { InterruptedError, NoReplyError, PartnerctlError, toErrorObject, withHint } from '../errors.ts';
import { sayNotice } from './notice.ts';
import { type Place, readableText } from './shown.ts';
import type { Waited } from './wait.ts';

const DEFAULT_WAIT_MS = 120_000;
const MOST_REPLIES = 1_000;

export const REPLY_FLAGS: readonly FlagSpec[] = [
  { usage: '--replies <n>', description: 'wait for so many replies' },
  { usage: '--settle <duration>', description: 'wait until nothing more came for so long after a reply' },
];

/** Which replies are waited for. */
export interface RepliesWanted {
  /** Without end where only quiet ends the waiting. */
  readonly count: number;
  /** The quiet that ends the waiting, in milliseconds, and as it was typed. */
  readonly settle: { readonly ms: number; readonly typed: string } | undefined;
  /** Whether more than the first reply was asked for. */
  readonly several: boolean;
}

/** What `--replies` and `--settle` ask for; one reply where neither is given. @throws UsageError */
export function repliesWanted(words: Args): RepliesWanted {
  const ms = words.duration('settle');
  const typed = words.value('settle');
  const replies = words.count('replies', { min: 1, max: MOST_REPLIES, fallback: 1 });
  const isCounted = words.value('replies') !== undefined;
  const settle = ms === undefined || typed === undefined ? undefined : { ms, typed };
  return {
    count: settle && !isCounted ? Number.POSITIVE_INFINITY : replies,
    settle,
    several: isCounted || settle !== undefined,
  };
}

/** `--replies` and `--settle` as they are typed to wait for so many. */
function wordsFor(count: number, { settle }: RepliesWanted): string[] {
  const counted = Number.isFinite(count) && (count > 1 || settle !== undefined) ? ['--replies', String(count)] : [];
  return settle ? [...counted, '--settle', settle.typed] : counted;
}

function shortfall(came: number, { count, settle }: RepliesWanted): string {
  if (settle && came > 0 && !Number.isFinite(count)) {
    const replies = came === 1 ? '1 reply' : `${came} replies`;
    return `${replies} came, but it was not quiet for ${settle.typed} before the time was up.`;
  }
  if (!Number.isFinite(count) || count === 1) return 'No reply came in time.';
  if (came === 0) return `None of the ${count} replies came in time.`;
  const missing = count - came;
  return `Only ${came} of ${count} replies came in time; ${missing} ${missing === 1 ? 'is' : 'are'} missing.`;
}

/** Where the waiting for replies begins. */
export interface WaitPlace extends Place {
  /** The message after which replies count. */
  readonly after: string;
}

export interface WaitReport {
  /** Whether the message was only just registered. */
  readonly registered: boolean;
  /** Said before the command that waits on; undefined where that would be the very command that failed. */
  readonly preface: string | undefined;
  /** What scripts are told of a failure, besides how many replies came. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** What to report when the waiting ended without all the replies. */
function failureOf(
  { replies, end, lastError }: Waited,
  { source_id, session_id, after }: WaitPlace,
  wanted: RepliesWanted,
  report: WaitReport,
  context: Context,
): PartnerctlError | undefined {
  if (end === 'replied') return undefined;
  const came = replies.length;
  if (end instanceof PartnerctlError && came === 0 && report.preface === undefined) return end;
  const missing = wanted.count - came;
  const last = replies.at(-1)?.message_id ?? after;
  const place = ['--source', source_id, '--session', session_id, '--after', last];
  const line = shellCommand(['chat', 'wait', ...place, ...wordsFor(missing, wanted)], context.flags);
  const so_far = { replies: came, missing: Number.isFinite(missing) ? missing : null, last_message_id: last };
  const details = { ...report.details, ...so_far };
  const hint = `${report.preface ?? ''}To wait on: ${line}`;
  if (end === 'timeout') {
    return new NoReplyError(shortfall(came, wanted), {
      why: lastError?.message,
      hint,
      details: lastError ? { ...details, last_error: toErrorObject(lastError) } : details,
      cause: lastError,
    });
  }
  const { reason } = context.signals.interrupt;
  const interrupted = reason instanceof InterruptedError ? reason : new InterruptedError('Interrupted.');
  const counted = Number.isFinite(missing)
    ? `Replies so far: ${came}; missing: ${missing}. `
    : `Replies so far: ${came}. `;
  const error = end instanceof PartnerctlError ? end : interrupted;
  return withHint(error, { hint: wanted.several ? counted + hint : hint, details });
}

/**
 * Waits for replies, for 2 minutes or as long as `--timeout` says.
 * @returns those that came, and the failure to end with where not all did: it names the command that waits on
 */
export async function awaitReplies(
  context: Context,
  http: Http,
  place: WaitPlace,
  wanted: RepliesWanted,
  report: WaitReport,
): Promise<{ replies: readonly Message[]; failure: PartnerctlError | undefined }> {
  const { clock, random, signals, flags } = context;
  const { waitForReplies } = await import('./wait.ts');
  context.progress.start('Waiting for the reply');
  const outcome = await waitForReplies(
    { http, clock, random, interrupt: signals.interrupt },
    place,
    place.after,
    {
      replies: wanted.count,
      settleMs: wanted.settle?.ms,
      timeoutMs: flags.timeoutMs === undefined ? DEFAULT_WAIT_MS : undefined,
      registered: report.registered,
    },
    (event) => sayNotice(context, event),
  );
  return { replies: outcome.replies, failure: failureOf(outcome, place, wanted, report, context) };
}

/** The texts alone, each ended by a line break. */
export function repliesText(replies: readonly Message[]): string {
  return replies
    .map(readableText)
    .map((text) => (text.endsWith('\n') ? text : `${text}\n`))
    .join('');
}
