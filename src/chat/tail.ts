import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import { formatDuration } from '../clock.ts';
import type { Message } from '../contract/messages.ts';
import { NoReplyError, PartnerctlError } from '../errors.ts';
import type { StreamEvent } from '../output/command-result.ts';
import { toErrorObject } from '../output/error-object.ts';
import { joinSentences } from '../output/sentences.ts';
import { readCheckpoints, type SessionCheckpoint, TailCheckpoint } from '../state-old/checkpoint.ts';
import { randomRecordId } from '../state-old/record.ts';
import { type SessionRef, sessionKey } from '../state-old/session-ref.ts';
import { findEndFailure, hintAtMessage, MORE_TIME } from './end-failure.ts';
import type { SelectedSessions } from './find-sessions.ts';
import type { FollowInput } from './follow-args.ts';
import { followSource } from './follow-source.ts';
import type { EndEvent, FollowStart, PollTrigger } from './follow-types.ts';
import { isNotice, toStreamEvent, writeFollowNotice } from './format-message.ts';
import { maxPollRetries } from './poll-failure.ts';
import { labelSessions } from './session-labels.ts';
import type { SessionSelection } from './session-selection.ts';
import { isUnfinished } from './unfinished-reply.ts';
import { explainUnrecognized, isUnrecognized } from './unrecognized-author.ts';
import { startWebhookPolls } from './webhook-polls.ts';

export interface TailOptions extends SelectedSessions, FollowInput {
  readonly start: FollowStart | { readonly from: 'checkpoint' };
  readonly untilReply: boolean;
}

/** A tail as typed. */
export interface TailInput extends Omit<TailOptions, keyof SelectedSessions> {
  readonly selection: SessionSelection;
}

/** By key (see `sessionKey`). */
type Checkpoints = ReadonlyMap<string, SessionCheckpoint>;

/** Enough for a history whose authors are the names of people. */
const MAX_AUTHOR_WARNINGS = 3;

/** What to do if the service refuses the message that a tail starts after. */
const START_HINTS: Partial<Record<TailOptions['start']['from'], string>> = {
  after: 'Check --after: it must be the message_id of a message of this session.',
  checkpoint:
    'The service may no longer have the message at which the last tail ended. Start again with --tail or --from-start.',
};

async function loadCheckpoints(context: Context, http: Http, options: TailOptions): Promise<Checkpoints> {
  if (options.start.from !== 'checkpoint') return new Map();
  const { sessions } = options;
  const checkpoints = await readCheckpoints(await context.statePath(), http.baseUrl, sessions);
  const labels = labelSessions(sessions);
  const missing = [...labels].flatMap(([key, label]) => (checkpoints.has(key) ? [] : [label]));
  if (missing.length > 0) {
    await context.notice(
      `note: no earlier tail of ${missing.join(', ')} is recorded; starting with the first message.`,
    );
  }
  return checkpoints;
}

function findStart(session: SessionRef, { start }: TailOptions, checkpoints: Checkpoints): FollowStart {
  if (start.from !== 'checkpoint') return start;
  const checkpoint = checkpoints.get(sessionKey(session));
  return checkpoint ? { from: 'after', ...checkpoint } : { from: 'start' };
}

async function openCheckpoint(context: Context, http: Http, checkpoints: Checkpoints): Promise<TailCheckpoint> {
  const onError = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error);
    void context.warn(joinSentences(`${reason}\nThe next --resume may not find where this tail ended.`));
  };
  const path = await context.statePath();
  const deps = { path, clock: context.clock, newId: randomRecordId, redact: context.redact, onError };
  return new TailCheckpoint(deps, http.baseUrl, checkpoints);
}

function describeSessions(sessions: readonly SessionRef[]) {
  const [source_id, ...others] = new Set(sessions.map((session) => session.source_id));
  return others.length > 0 ? { sessions } : { source_id, sessions: sessions.map(({ session_id }) => session_id) };
}

function createNoReplyError(
  { sessions }: TailOptions,
  error: PartnerctlError | undefined,
  lastIds: ReadonlyMap<string, string>,
  context: Context,
): PartnerctlError {
  const [session, ...others] = sessions;
  const after = session && others.length === 0 ? lastIds.get(sessionKey(session)) : undefined;
  const { source_id = '', session_id = '' } = session ?? {};
  const limit = context.flags.timeoutMs;
  const args = [
    'chat',
    'tail',
    '--source',
    source_id,
    '--session',
    session_id,
    '--after',
    after ?? '',
    '--until-reply',
  ];
  return new NoReplyError(
    limit === undefined ? 'No reply came in time.' : `No reply came within ${formatDuration(limit)}.`,
    {
      hint: after === undefined ? MORE_TIME : `To keep waiting: ${shellCommand(args, context.flags)}`,
      why: error?.message,
      details: { ...describeSessions(sessions), ...(error && { last_error: toErrorObject(error) }) },
      cause: error,
    },
  );
}

/** The error to exit with when following ended; undefined for a normal end, such as Ctrl-C. */
function findFailure(
  end: EndEvent,
  options: TailOptions,
  lastIds: ReadonlyMap<string, string>,
  context: Context,
): PartnerctlError | undefined {
  const isAwaited = end.reason === 'timeout' && options.untilReply;
  if (isAwaited) return createNoReplyError(options, end.error, lastIds, context);
  return findEndFailure(end, options.follow, context);
}

/** Says that the sessions have no messages to start with; undefined if none are wanted. */
export function describeEmpty({ sessions, start }: Pick<TailOptions, 'sessions' | 'start'>): string | undefined {
  if (start.from === 'last' && start.count === 0) return undefined;
  const names = sessions.map(({ session_id }) => session_id);
  const where = `${names.length === 1 ? 'session' : 'sessions'} ${names.join(', ')}`;
  if (start.from === 'after') return `No messages after ${start.message_id} in ${where} yet.`;
  return start.from === 'checkpoint' ? `No new messages in ${where}.` : `No messages in ${where} yet.`;
}

/** Tells the user at a terminal, which would otherwise stay blank, that the followed sessions have no messages so far. */
class EmptyNotice {
  private readonly context: Context;
  private readonly options: TailOptions;
  /** By key (see `sessionKey`). */
  private readonly empty = new Set<string>();

  constructor(context: Context, options: TailOptions) {
    this.context = context;
    this.options = options;
  }

  /** Notes that all existing messages of a session were shown, and whether there were any. */
  async add(key: string, hasMessages: boolean): Promise<void> {
    const { io, notice } = this.context;
    if (!hasMessages) this.empty.add(key);
    if (this.empty.size < this.options.sessions.length || !this.options.follow || !io.stderr.isTTY) return;
    const text = describeEmpty(this.options);
    if (text !== undefined) await notice(`${text} Waiting for new ones; Ctrl-C ends the tail.`);
  }
}

/** Warns of authors that are not recognized, of each only once. */
class AuthorWarnings {
  private readonly context: Context;
  private readonly http: Http;
  private readonly roles = new Set<string>();
  /** One message of each role. */
  private readonly messages: Message[] = [];

  constructor(context: Context, http: Http) {
    this.context = context;
    this.http = http;
  }

  async add(message: Message): Promise<void> {
    if (!isUnrecognized(message) || this.roles.has(message.role) || this.roles.size >= MAX_AUTHOR_WARNINGS) return;
    this.roles.add(message.role);
    this.messages.push(message);
    const doubt = explainUnrecognized(this.messages, this.http.contract, this.context.flags);
    if (doubt) await this.context.warn(`${doubt.why} ${doubt.hint.replaceAll('\n', ' ')}`);
  }
}

/** The ids to record once all that exists was read: even if nothing was shown, the next tail starts after it. */
function unrecordedIds(
  latest: readonly string[],
  wasWritten: boolean,
  checkpoint: SessionCheckpoint | undefined,
): readonly string[] {
  return wasWritten || latest.at(-1) === checkpoint?.message_id ? [] : latest;
}

/** Records what was shown. A reply that --no-follow shows unfinished is left out, so that the next tail shows its whole text. */
async function recordShown(
  checkpoint: TailCheckpoint,
  ref: SessionRef,
  message: Message,
  { follow }: TailOptions,
): Promise<void> {
  if (follow || !isUnfinished(message)) await checkpoint.record(ref, message.message_id);
}

function explainRefusedStart(error: unknown, { start }: TailOptions): unknown {
  const hint = START_HINTS[start.from];
  return hint !== undefined && error instanceof PartnerctlError ? hintAtMessage(error, hint) : error;
}

/** Follows the sessions. @returns the source to follow instead, if the service does not know this one */
async function* tailSource(
  context: Context,
  http: Http,
  options: TailOptions & { readonly trigger: PollTrigger | undefined },
): AsyncGenerator<StreamEvent, string | undefined, void> {
  const { renew, intervalMs, maxOutageMs, trigger } = options;
  const { clock, random, signals } = context;
  const checkpoints = await loadCheckpoints(context, http, options);
  const sessions = options.sessions.map((ref) => ({ ...ref, start: findStart(ref, options, checkpoints) }));
  const until = options.untilReply ? { replies: 1 } : undefined;
  const { events } = followSource(
    { http, clock, random, interrupt: signals.interrupt, trigger },
    {
      sessions,
      renew,
      follow: options.follow,
      intervalMs,
      maxOutageMs,
      maxRetries: maxPollRetries(options, context.flags.retries),
      until,
    },
  );
  const labels = sessions.length > 1 ? labelSessions(sessions) : new Map<string, string>();
  const lastIds = new Map(
    sessions.flatMap(({ start, ...ref }) => (start.from === 'after' ? [[sessionKey(ref), start.message_id]] : [])),
  );
  const written = new Set<string>();
  const emptyNotice = new EmptyNotice(context, options);
  const checkpoint = await openCheckpoint(context, http, checkpoints);
  const authors = new AuthorWarnings(context, http);
  try {
    for await (const event of events) {
      if (event.kind === 'message') {
        const { source_id, session_id, message } = event;
        const ref = { source_id, session_id };
        const key = sessionKey(ref);
        yield toStreamEvent(ref, message, { label: labels.get(key), showTimestamp: options.showTimestamps });
        lastIds.set(key, message.message_id);
        written.add(key);
        await recordShown(checkpoint, ref, message, options);
        await authors.add(message);
      } else if (event.kind === 'caught-up') {
        const { source_id, session_id, latest } = event;
        const key = sessionKey(event);
        for (const id of unrecordedIds(latest, written.has(key), checkpoints.get(key))) {
          lastIds.set(key, id);
          await checkpoint.record({ source_id, session_id }, id);
        }
        await emptyNotice.add(key, written.has(key));
      } else if (event.kind === 'end') {
        const failure = findFailure(event, options, lastIds, context);
        if (failure) throw failure;
      } else if (event.kind === 'source-changed') {
        return event.source_id;
      } else if (isNotice(event)) {
        await writeFollowNotice(context, event);
      }
    }
  } finally {
    await checkpoint.close();
  }
  return undefined;
}

/**
 * Follows sessions and records where the tail is, so that --resume can continue without gaps or repeats. Messages are
 * recorded after they were written: the next event is pulled only then.
 * @throws PartnerctlError as `follow` does, or if the tail did not end as it should
 */
export async function* tailSessions(
  context: Context,
  http: Http,
  options: TailOptions,
): AsyncGenerator<StreamEvent, void, void> {
  const trigger = await startWebhookPolls(context, options.webhook);
  try {
    const source_id = yield* tailSource(context, http, { ...options, trigger });
    if (source_id === undefined) return;
    const sessions = options.sessions.map(({ session_id }) => ({ source_id, session_id }));
    yield* tailSource(context, http, { ...options, sessions, renew: async () => undefined, trigger });
  } catch (error) {
    throw explainRefusedStart(error, options);
  } finally {
    await trigger?.close();
  }
}
