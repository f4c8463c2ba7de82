import { ASSUMPTIONS } from '../contract/assumptions.ts';
import {
  NotFoundError,
  type PartnerctlError,
  RateLimitError,
  RefusedError,
  ServiceError,
  ShapeError,
} from '../errors.ts';

/** After so many unreadable answers in a row to begin with it is the shape, and not the line. */
const MOST_UNREADABLE = 3;

/** What is known of the session that a poll failed for. */
export interface FailedSession {
  /** Whether its history was ever read. */
  readonly wasRead: boolean;
  /** Whether the question named a message to read after. */
  readonly hasCursor: boolean;
  /** Whether some pages had come: what failed was the link to the next one. */
  readonly isMidway: boolean;
  /** Unreadable answers in a row, this one included. */
  readonly unreadable: number;
}

/**
 * What a failed poll means. `unknown`: the service does not know the session yet, as before the first message.
 * `refused`: perhaps for the cursor alone. `passing`: another attempt may bring what this one did not. `final`: none will.
 */
export type Meaning = 'unknown' | 'refused' | 'passing' | 'final';

/** Whether the service says that it is the source that it does not know, and not the session or a resource. */
function namesSource({ info }: NotFoundError): boolean {
  const said = `${info.code ?? ''} ${info.why ?? ''}`;
  return /(?<![a-z])source|chat_?source/i.test(said) && !/session/i.test(said);
}

function mayPass(error: PartnerctlError, { wasRead, unreadable }: FailedSession): boolean {
  // What could be read once can be read again some time.
  if (error instanceof ShapeError) return wasRead || unreadable < MOST_UNREADABLE;
  if (error instanceof ServiceError) return wasRead || error.info.permanent !== true;
  return error instanceof RateLimitError;
}

/** Decides what the failure of a poll means for the session. */
export function meaningOf(error: PartnerctlError, session: FailedSession): Meaning {
  const { wasRead, hasCursor, isMidway } = session;
  if (error instanceof NotFoundError && !wasRead && !hasCursor && !namesSource(error)) return 'unknown';
  if (error instanceof NotFoundError || error instanceof RefusedError) return isMidway ? 'passing' : 'refused';
  return mayPass(error, session) ? 'passing' : 'final';
}

/** The moment before which a repeat is pointless, in milliseconds since the epoch, where the failure names one. */
export function retryAtOf({ info }: PartnerctlError): number | undefined {
  const retryAt = info.retryAt === undefined ? Number.NaN : Date.parse(info.retryAt);
  return Number.isNaN(retryAt) ? undefined : retryAt;
}

/** Whether no answer came to the last poll: mostly its own time was up, which --timeout does not prolong. */
function isUnanswered(last: PartnerctlError | undefined): boolean {
  return last instanceof ServiceError && last.info.status === undefined && last.info.permanent !== true;
}

/** The failure of a follower that was kept from reading for as long as it was to bear it. */
export function outageError(last: PartnerctlError | undefined, maxOutageMs: number): PartnerctlError {
  const Kind = last instanceof RateLimitError ? RateLimitError : ServiceError;
  return new Kind(`The service has been out of reach for ${Math.round(maxOutageMs / 1000)} s.`, {
    ...last?.info,
    why: [last?.message, last?.info.why].filter((line) => line !== undefined).join('\n'),
    hint: isUnanswered(last)
      ? 'Check the address and the network, and run it again; -v shows every attempt.'
      : last?.info.hint,
    cause: last,
  });
}

/** The failure of a reading that was to be whole, where the service says that there is more than it showed. */
export function withheldError(sessionId: string, seen: string): ShapeError {
  return new ShapeError(`The history of ${sessionId} goes on in a way that the tool cannot follow.`, {
    why: seen,
    hint: `What was shown is not the whole. Assumed (history.messages): ${ASSUMPTIONS['history.messages']}.`,
    details: { session_id: sessionId, assumption: 'history.messages', seen },
  });
}
