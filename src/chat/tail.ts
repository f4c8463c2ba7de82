import { pagingFixes } from '../api/incomplete-list.ts';
import {
  InterruptedError,
  isCtrlC,
  PartnerctlError,
  RunFailure,
  ServiceError,
  ShapeError,
  withHint,
} from '../errors.ts';
import { follow } from './follow.ts';
import type { FollowDeps, FollowOptions, SessionEvent } from './follow-session.ts';
import type { Places } from './places.ts';
import { type FollowStart, type SessionRef, sessionKey } from './session.ts';
import { isUnfinished } from './shown.ts';

export interface TailDeps extends FollowDeps {
  readonly places: Places;
  /** Called once, if the place of a tail cannot be recorded. */
  readonly onUnrecorded: (error: PartnerctlError) => Promise<void>;
}

export interface TailOptions extends FollowOptions {
  readonly intervalMs?: number | undefined;
  /** `place`: where the last tail of the session ended. */
  readonly start: FollowStart | { readonly from: 'place' };
}

/** `no-place`: there is no earlier tail to continue, so the session is shown from its first message on. */
export type TailEvent = SessionEvent | { readonly kind: 'no-place'; readonly ref: SessionRef };

const MORE_TIME = 'Allow more time with --timeout.';

/** What to do if the service refuses the message that a tail starts after. */
const START_HINTS: Partial<Record<TailOptions['start']['from'], string>> = {
  after: 'Check --after: it must be the message_id of a message of this session.',
  place:
    'The service may no longer have the message at which the last tail ended. Start again with --tail or --from-start.',
};

/** Replaces the hint of a refusal with one about the message to read after, for which the service names its own parameter. */
export function hintAtMessage(error: PartnerctlError, hint: string): PartnerctlError {
  const isRefusal = error.type === 'refused' && (error.info.status === 400 || error.info.status === 422);
  return isRefusal ? new RunFailure(error.message, error, { hint }) : error;
}

/** The error of a tail that was ended by a signal other than Ctrl-C. */
export function interruption(signal: AbortSignal): InterruptedError | undefined {
  const { reason } = signal;
  return reason instanceof InterruptedError && !isCtrlC(reason) ? reason : undefined;
}

/** The error of a tail whose time is up, unless it followed what could be read. */
function timeoutError(
  { once, wasRead }: { readonly once: boolean; readonly wasRead: boolean },
  last: PartnerctlError | undefined,
): PartnerctlError | undefined {
  if (wasRead && !once) return undefined;
  if (last) return withHint(last, { hint: `The time limit was reached. ${MORE_TIME}`, details: {} });
  const message = wasRead
    ? 'The time limit was reached before all messages were read.'
    : 'The service did not answer in time.';
  return new ServiceError(message, { hint: MORE_TIME });
}

/** The error of a complete read whose service says that it has more than it sent. */
function incompleteError({ session_id }: SessionRef, evidence: string): ShapeError {
  const leaf = 'messages.history.next';
  return new ShapeError(`The history of ${session_id} could not be read completely.`, {
    why: evidence,
    hint: `The messages shown may not be all. ${pagingFixes(leaf, 'they are all')}`,
    details: { session_id, leaf, seen: evidence },
  });
}

/** Returns a function that records an event which the consumer has handled. @param known the ids that earlier tails showed, by key */
function recordPlaces(
  { places, onUnrecorded }: TailDeps,
  isOnce: boolean,
  known: ReadonlyMap<string, readonly string[]>,
) {
  const shown = new Set<string>();
  let hasFailed = false;
  const idsOf = (event: SessionEvent): readonly string[] => {
    const key = sessionKey(event.ref);
    if (event.kind === 'message') {
      shown.add(key);
      // The next tail shows the whole text of a reply that is still being written.
      return isOnce && isUnfinished(event.message) ? [] : [event.message.message_id];
    }
    // Even if nothing was shown, the next tail starts here.
    const isElsewhere = event.kind === 'caught-up' && event.latest.at(-1) !== known.get(key)?.at(-1);
    return isElsewhere && !shown.has(key) ? event.latest : [];
  };
  return async (event: SessionEvent): Promise<void> => {
    const ids = idsOf(event);
    if (ids.length === 0 || hasFailed) return;
    try {
      await places.add(event.ref, ids);
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      hasFailed = true;
      await onUnrecorded(error);
    }
  };
}

/** Where to start in a session. @param ids what the last tail showed */
function resolveStart(start: TailOptions['start'], ids: readonly string[]): FollowStart {
  const message_id = ids.at(-1);
  if (start.from !== 'place') return start;
  return message_id === undefined ? { from: 'start' } : { from: 'after', message_id, recent: ids.slice(0, -1) };
}

/** What was read of the followed sessions. */
interface Reading {
  /** How many sessions are not read up to what existed at the start. */
  readonly unread: number;
  readonly wasRead: boolean;
  readonly incomplete: ShapeError | undefined;
}

function addTo({ unread, wasRead, incomplete }: Reading, event: SessionEvent): Reading {
  const isAnswer = event.kind === 'message' || event.kind === 'polled' || event.kind === 'unknown-session';
  const isCut = event.kind === 'gap' && event.isCertain;
  return {
    unread: event.kind === 'caught-up' ? unread - 1 : unread,
    wasRead: wasRead || isAnswer,
    incomplete: incomplete ?? (isCut ? incompleteError(event.ref, event.evidence) : undefined),
  };
}

/** The error of a tail that did not end as it should. */
function failureOf(
  { unread, wasRead, incomplete }: Reading,
  { signal, remainingMs }: FollowDeps,
  once: boolean,
  lastError: PartnerctlError | undefined,
): PartnerctlError | undefined {
  const isTimeUp = !signal.aborted && remainingMs() <= 0 && (!once || unread > 0);
  if (isTimeUp) return timeoutError({ once, wasRead }, lastError);
  // Without following, a normal end would claim that the messages are complete.
  return interruption(signal) ?? (once ? incomplete : undefined);
}

/**
 * Follows sessions and records where each tail is, so that the next one can continue without gaps or repeats. A message is
 * recorded when the next event is requested: the consumer has written it by then.
 * @throws PartnerctlError as `followSession` does, or if the tail did not end as it should
 */
export async function* tail(
  deps: TailDeps,
  sessions: readonly SessionRef[],
  { start, ...options }: TailOptions,
): AsyncGenerator<TailEvent, void, void> {
  const { once = false } = options;
  const places = new Map<string, readonly string[]>();
  for (const ref of sessions) {
    const ids = await deps.places.read(ref);
    places.set(sessionKey(ref), ids);
    if (start.from === 'place' && ids.length === 0) yield { kind: 'no-place', ref };
  }
  const record = recordPlaces(deps, once, places);
  const starts = sessions.map((ref) => ({ ...ref, start: resolveStart(start, places.get(sessionKey(ref)) ?? []) }));
  const { health, events } = follow(deps, starts, options);
  let reading: Reading = { unread: sessions.length, wasRead: false, incomplete: undefined };
  try {
    for await (const event of events) {
      // The error at the end says it better.
      if (!(once && event.kind === 'gap' && event.isCertain)) yield event;
      await record(event);
      reading = addTo(reading, event);
    }
  } catch (error) {
    const hint = START_HINTS[start.from];
    throw hint !== undefined && error instanceof PartnerctlError ? hintAtMessage(error, hint) : error;
  }
  const failure = failureOf(reading, deps, once, health.lastError);
  if (failure) throw failure;
}
