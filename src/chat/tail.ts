import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import type { Message } from '../contract/messages.ts';
import {
  EXIT,
  InterruptedError,
  NoReplyError,
  type PartnerctlError,
  ServiceError,
  toErrorObject,
  withHint,
} from '../errors.ts';
import type { StreamEvent } from '../output/command-result.ts';
import { readCheckpoints, type SessionCheckpoint, TailCheckpoint } from '../state/checkpoint.ts';
import { randomRecordId } from '../state/record.ts';
import { type FoundSource, knownSource } from './find-source.ts';
import { followSource } from './follow-source.ts';
import { toStreamEvent, writeNotice } from './format-message.ts';
import type { SourceInput } from './session.ts';
import type { FollowEvent, FollowStart } from './types.ts';
import { explainUnrecognized, isUnrecognized } from './unrecognized-author.ts';

export interface TailOptions {
  readonly source: FoundSource;
  readonly sessions: readonly string[];
  readonly start: FollowStart | { readonly from: 'checkpoint' };
  readonly follow: boolean;
  readonly untilReply: boolean;
  readonly showTimestamps: boolean;
  readonly intervalMs: number | undefined;
  readonly maxOutageMs: number | undefined;
}

/** A tail as typed. */
export interface TailInput extends Omit<TailOptions, 'source'> {
  readonly source: SourceInput;
}

type Checkpoints = ReadonlyMap<string, SessionCheckpoint>;

/** A history that names each person needs no warning for each. */
const MAX_AUTHOR_WARNINGS = 3;
const MORE_TIME = 'Allow more time with --timeout.';

async function loadCheckpoints(context: Context, http: Http, options: TailOptions): Promise<Checkpoints> {
  if (options.start.from !== 'checkpoint') return new Map();
  const { sessions } = options;
  const { source_id } = options.source;
  const checkpoints = await readCheckpoints(await context.statePath(), { origin: http.baseUrl, source_id }, sessions);
  const missing = sessions.filter((session) => !checkpoints.has(session));
  if (missing.length > 0) {
    await context.notice(
      `note: no earlier tail of ${missing.join(', ')} is recorded; starting with the first message.`,
    );
  }
  return checkpoints;
}

function findStart(session: string, { start }: TailOptions, checkpoints: Checkpoints): FollowStart {
  if (start.from !== 'checkpoint') return start;
  const checkpoint = checkpoints.get(session);
  return checkpoint ? { from: 'after', ...checkpoint } : { from: 'start' };
}

async function openCheckpoint(
  context: Context,
  http: Http,
  { source: { source_id } }: TailOptions,
  checkpoints: Checkpoints,
): Promise<TailCheckpoint> {
  const onError = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error);
    void context.warn(`${reason} --resume may not find where this tail ended.`);
  };
  const path = await context.statePath();
  const deps = { path, clock: context.clock, newId: randomRecordId, redact: context.redact, onError };
  return new TailCheckpoint(deps, { origin: http.baseUrl, source_id }, checkpoints);
}

function createNoReplyError(
  { source: { source_id }, sessions }: TailOptions,
  error: PartnerctlError | undefined,
  lastIds: ReadonlyMap<string, string>,
  context: Context,
): PartnerctlError {
  const [session = ''] = sessions;
  const after = sessions.length === 1 ? lastIds.get(session) : undefined;
  const args = ['chat', 'tail', '--source', source_id, '--session', session, '--after', after ?? '', '--until-reply'];
  return new NoReplyError('No reply came in time.', {
    hint: after === undefined ? MORE_TIME : `To keep waiting: ${shellCommand(args, context.flags)}`,
    why: error?.message,
    details: { source_id, sessions, ...(error && { last_error: toErrorObject(error) }) },
    cause: error,
  });
}

/** The error to exit with when following ended; undefined for a normal end, such as Ctrl-C. */
function findFailure(
  { reason, error, wasRead }: Extract<FollowEvent, { kind: 'end' }>,
  options: TailOptions,
  lastIds: ReadonlyMap<string, string>,
  context: Context,
): PartnerctlError | undefined {
  const { reason: signal } = context.signals.interrupt;
  if (reason === 'interrupted' && signal instanceof InterruptedError && signal.exitCode !== EXIT.interrupted)
    return signal;
  if (reason !== 'timeout') return undefined;
  if (options.untilReply) return createNoReplyError(options, error, lastIds, context);
  if (options.follow && wasRead) return undefined;
  if (error) return withHint(error, { hint: `The time limit was reached. ${MORE_TIME}`, details: {} });
  const message = wasRead
    ? 'The time limit was reached before all messages were read.'
    : 'The service did not answer in time.';
  return new ServiceError(message, { hint: MORE_TIME });
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

/** Follows the sessions of one source. @returns the source to follow instead, if the service does not know this one */
async function* tailSource(
  context: Context,
  http: Http,
  options: TailOptions,
): AsyncGenerator<StreamEvent, string | undefined, void> {
  const { source, intervalMs, maxOutageMs } = options;
  const { source_id } = source;
  const { clock, random, signals } = context;
  const checkpoints = await loadCheckpoints(context, http, options);
  const sessions = options.sessions.map((session_id) => ({
    session_id,
    start: findStart(session_id, options, checkpoints),
  }));
  const until = options.untilReply ? { replies: 1 } : undefined;
  const { events } = followSource({ http, clock, random, interrupt: signals.interrupt }, source, {
    sessions,
    follow: options.follow,
    intervalMs,
    maxOutageMs,
    until,
  });
  const lineOptions = { showSession: options.sessions.length > 1, showTimestamp: options.showTimestamps };
  const lastIds = new Map(
    sessions.flatMap(({ session_id, start }) => (start.from === 'after' ? [[session_id, start.message_id]] : [])),
  );
  const written = new Set<string>();
  const checkpoint = await openCheckpoint(context, http, options, checkpoints);
  const authors = new AuthorWarnings(context, http);
  try {
    for await (const event of events) {
      if (event.kind === 'message') {
        const { session_id, message } = event;
        yield toStreamEvent({ source_id, session_id }, message, lineOptions);
        lastIds.set(session_id, message.message_id);
        written.add(session_id);
        await checkpoint.record(session_id, message.message_id);
        await authors.add(message);
      } else if (event.kind === 'caught-up') {
        const { session_id, latest } = event;
        for (const id of unrecordedIds(latest, written.has(session_id), checkpoints.get(session_id))) {
          lastIds.set(session_id, id);
          await checkpoint.record(session_id, id);
        }
      } else if (event.kind === 'end') {
        const failure = findFailure(event, options, lastIds, context);
        if (failure) throw failure;
      } else if (event.kind === 'source-changed') {
        return event.source_id;
      } else {
        await writeNotice(context, event);
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
  const source_id = yield* tailSource(context, http, options);
  if (source_id !== undefined) yield* tailSource(context, http, { ...options, source: knownSource(source_id) });
}
