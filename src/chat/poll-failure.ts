import { pagingFixes } from '../api/incomplete-list.ts';
import { ASSUMPTIONS } from '../contract/assumptions.ts';
import { isJsonObject } from '../contract/json.ts';
import {
  NotFoundError,
  type PartnerctlError,
  RateLimitError,
  RefusedError,
  ServiceError,
  ShapeError,
  withHint,
} from '../errors.ts';
import type { SessionRef } from '../state-old/session-ref.ts';
import type { HistoryGap } from './gap-detector.ts';

/** This many unreadable responses in a row at the start mean an unknown shape rather than a broken connection. */
const MAX_UNREADABLE = 3;

const HISTORY_EXAMPLE = 'GET /integrations/api-chat/sessions/{session_id}/messages/';

/** The session whose poll failed. */
export interface FailedSession {
  /** Whether its history was ever read. */
  readonly wasRead: boolean;
  /** Whether any of its messages was ever read. An empty history does not show that messages can be. */
  readonly hasMessages: boolean;
  /** Whether the request named a message to read after. */
  readonly hasCursor: boolean;
  /** Whether earlier pages arrived, so that the link to the next one failed. */
  readonly isBetweenPages: boolean;
  /** Unreadable responses in a row, including this one. */
  readonly unreadable: number;
}

/**
 * What a failed poll means. `unknown-session`: the service does not know the session, as before its first message.
 * `refused`: perhaps only because of the cursor. `transient`: worth another attempt. `permanent`: not worth one.
 */
export type FailureKind = 'unknown-session' | 'refused' | 'transient' | 'permanent';

/** Whether a 404 is about the source and not about the session. */
function isAboutSource({ info }: NotFoundError): boolean {
  const text = `${info.code ?? ''} ${info.why ?? ''}`;
  return /(?<![a-z])source|chat_?source/i.test(text) && !/session/i.test(text);
}

/** The error to end with if nothing shows that a history exists at the path that answers 404. */
export function createNoHistoryError(error: PartnerctlError): NotFoundError {
  return new NotFoundError('The service has no history of this session, or reads histories in another way (404).', {
    ...error.info,
    hint: [
      'If the session has messages, say how a history is read: partnerctl contract import <file|url>,',
      `or: partnerctl contract set messages.history '${HISTORY_EXAMPLE}'`,
    ].join(' '),
    cause: error,
  });
}

/** Whether the service ignores the message to read after: it will do so again. */
function ignoresCursor({ info: { details } }: PartnerctlError): boolean {
  return isJsonObject(details) && details.leaf === 'messages.history.after_message_id';
}

/** Whether a message, and not the list of them, cannot be read. */
function isAboutMessage({ info: { details } }: PartnerctlError): boolean {
  return isJsonObject(details) && typeof details.leaf === 'string' && details.leaf.startsWith('message.');
}

function isTransient(error: PartnerctlError, { wasRead, hasMessages, unreadable }: FailedSession): boolean {
  if (ignoresCursor(error)) return false;
  // What was readable once will be again.
  if (error instanceof ShapeError) {
    return (isAboutMessage(error) ? hasMessages : wasRead) || unreadable < MAX_UNREADABLE;
  }
  if (error instanceof ServiceError) return wasRead || error.info.permanent !== true;
  return error instanceof RateLimitError;
}

/** Decides what a failed poll means for its session. */
export function classifyFailure(error: PartnerctlError, session: FailedSession): FailureKind {
  const { wasRead, hasCursor, isBetweenPages } = session;
  const isAnswer = error instanceof NotFoundError || error instanceof RefusedError;
  if (isAnswer && error.info.fromGateway) return 'transient';
  if (error instanceof NotFoundError && !wasRead && !hasCursor && !isAboutSource(error)) return 'unknown-session';
  if (isAnswer) return isBetweenPages ? 'transient' : 'refused';
  return isTransient(error, session) ? 'transient' : 'permanent';
}

/** When the service accepts the next request, in milliseconds since the epoch, if the error says so. */
export function retryTime({ info }: PartnerctlError): number | undefined {
  const retryAt = info.retryAt === undefined ? Number.NaN : Date.parse(info.retryAt);
  return Number.isNaN(retryAt) ? undefined : retryAt;
}

/** Whether the last poll got no response: usually it hit its own time limit, which --timeout does not extend. */
function isUnanswered(last: PartnerctlError | undefined): boolean {
  return last instanceof ServiceError && last.info.status === undefined && last.info.permanent !== true;
}

/** How often a poll is repeated before reading ends: --retries, if nothing else says when an outage is too long. */
export function maxPollRetries(
  { follow, maxOutageMs }: { readonly follow: boolean; readonly maxOutageMs: number | undefined },
  retries: number | undefined,
): number | undefined {
  return follow || maxOutageMs !== undefined ? undefined : retries;
}

/** The error to end with after an outage of `maxOutageMs`. @param last the failure of the last poll */
export function createOutageError(last: PartnerctlError | undefined, maxOutageMs: number): PartnerctlError {
  const Kind = last instanceof RateLimitError ? RateLimitError : ServiceError;
  return new Kind(`The service has been out of reach for ${Math.round(maxOutageMs / 1000)} s.`, {
    ...last?.info,
    why: [last?.message, last?.info.why].filter((line) => line !== undefined).join('\n'),
    hint: isUnanswered(last)
      ? 'Check the base URL and the network, then run the command again; -v shows every attempt.'
      : last?.info.hint,
    cause: last,
  });
}

/** The error to end with when all messages were requested and the service says that it has more than it sent. */
export function createIncompleteError(sessionId: string, { evidence }: HistoryGap): ShapeError {
  const leaf = 'messages.history.next';
  return new ShapeError(`The history of ${sessionId} could not be read completely.`, {
    why: evidence,
    hint: `The messages shown may not be all.\n${pagingFixes(leaf, 'they are all')}`,
    details: { session_id: sessionId, assumption: 'history.messages', leaf, seen: evidence },
  });
}

/** Creates the error for a history that repeats the same messages under new ids in every response. */
export function createNewIdsError(sessionId: string): ShapeError {
  return new ShapeError('The service gives its messages new ids in every response, so they cannot be followed.', {
    why: `the history of ${sessionId} repeated the same messages, each time under new ids`,
    hint: `Assumed (history.messages): ${ASSUMPTIONS['history.messages']}.`,
    details: { session_id: sessionId, assumption: 'history.messages' },
  });
}

/** Adds to an error which session it is about, if sessions of several sources are followed. */
export function withSession(
  error: PartnerctlError,
  { source_id, session_id }: SessionRef,
  followed: readonly SessionRef[],
): PartnerctlError {
  if (followed.every((other) => other.source_id === source_id)) return error;
  const hint = `It is about session ${session_id} of source ${source_id}.`;
  return withHint(error, { hint, details: { source_id, session_id } });
}
