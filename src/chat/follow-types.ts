import type { Http } from '../api/http.ts';
import type { Clock } from '../clock.ts';
import type { Message } from '../contract/messages.ts';
import type { PartnerctlError } from '../errors.ts';
import type { SessionRef } from '../state-old/session-ref.ts';

export interface FollowDeps {
  readonly http: Http;
  readonly clock: Clock;
  readonly random: () => number;
  /** Ends following when aborted. */
  readonly interrupt: AbortSignal;
  /** Asks for polls. */
  readonly trigger?: PollTrigger | undefined;
}

/** Tells a follower when there may be something new. */
export interface PollTrigger {
  connect(follower: Pick<Follower, 'pollBy'>, sessions: readonly SessionRef[]): void;
}

/**
 * Where in a session to begin: with its first message, after a given message, or with the last `count` messages (0: only
 * new ones). `recent` holds ids that came shortly before `message_id`, oldest first, if an earlier run recorded them.
 */
export type FollowStart =
  | { readonly from: 'start' }
  | { readonly from: 'after'; readonly message_id: string; readonly recent?: readonly string[] }
  | { readonly from: 'last'; readonly count: number };

/** A session to follow, and where in it to begin. */
export interface SessionStart extends SessionRef {
  readonly start: FollowStart;
}

export interface FollowOptions {
  /** Of any number of sources; each once. */
  readonly sessions: readonly SessionStart[];
  /** False: end once everything that exists has been read. */
  readonly follow: boolean;
  /** Fixed delay between two polls of a session, in milliseconds; adaptive by default. */
  readonly intervalMs?: number | undefined;
  /** End after this time, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Fail after an outage of this length, in milliseconds. Default: never when following, else 30 s. */
  readonly maxOutageMs?: number | undefined;
  /** Fail once this many further polls of a session in a row have failed, however short the outage is. */
  readonly maxRetries?: number | undefined;
  /**
   * End after this many new replies or, with `settleMs`, once no message came for that time after a reply. Replies that
   * already existed count only in a session that starts after a given message.
   */
  readonly until?: { readonly replies: number; readonly settleMs?: number | undefined } | undefined;
  /** Whether to expect a reply right away, because a message was just sent. */
  readonly expectsReply?: boolean | undefined;
  /** Whether the message to start after was just registered, so that the history may not know it yet. */
  readonly isJustRegistered?: boolean | undefined;
  /** Whether to stop polling a session that cannot be read (`skipped`). Otherwise, and if none is left, its error is thrown. */
  readonly skipsUnreadable?: boolean | undefined;
  /** Whether to report each poll (`polled`). */
  readonly reportsPolls?: boolean | undefined;
}

export type FollowEvent =
  | ({
      readonly kind: 'message';
      readonly message: Message;
      /** Whether the message existed when following began. */
      readonly isBacklog: boolean;
    } & SessionRef)
  /** The service cannot be reached; polling continues. Once per outage. */
  | { readonly kind: 'outage-started'; readonly error: PartnerctlError }
  /** The service can be reached again, and the `missed` messages of the meantime have been read. */
  | { readonly kind: 'outage-ended'; readonly outageMs: number; readonly missed: number }
  /** The service answered 404 for the session, which is treated as empty. Once per session. */
  | ({ readonly kind: 'unknown-session'; readonly error: PartnerctlError } & SessionRef)
  /** The service does not know the remembered source of the agent; this one is followed from now on. */
  | { readonly kind: 'source-changed'; readonly source_id: string }
  /** Messages are or may be missing; `evidence` says why. */
  | ({ readonly kind: 'gap'; readonly evidence: string } & SessionRef)
  /** Everything that existed at the start has been read. `latest`: the last ids seen, oldest first. */
  | ({ readonly kind: 'caught-up'; readonly latest: readonly string[] } & SessionRef)
  /** The session cannot be read and is not followed anymore. */
  | ({ readonly kind: 'skipped'; readonly error: PartnerctlError } & SessionRef)
  /** All messages that existed at a time (milliseconds since the epoch) have been read. */
  | ({ readonly kind: 'polled'; readonly at: number } & SessionRef)
  /** Always the last event. */
  | {
      readonly kind: 'end';
      readonly reason: EndReason;
      /** The last failure, if a session was failing at the end. */
      readonly error: PartnerctlError | undefined;
      /** Whether any session was read at all; one that the service does not know counts as empty. */
      readonly wasRead: boolean;
    };

export type EndReason = 'caught-up' | 'replied' | 'timeout' | 'interrupted';

/** How following ended. */
export type EndEvent = Extract<FollowEvent, { kind: 'end' }>;

/** The events, besides messages, that are shown to the user. */
export type FollowNotice = Extract<
  FollowEvent,
  { kind: 'outage-started' | 'outage-ended' | 'unknown-session' | 'gap' | 'skipped' }
>;

export interface Follower {
  /** Can be iterated once. @throws PartnerctlError as described at `follow` */
  readonly events: AsyncGenerator<FollowEvent, void, void>;
  /** Tells the follower that a message was sent, so that it polls for the reply right away. */
  expectReply(session: SessionRef): void;
  /**
   * Polls no later than a time, as long as the service accepts polls.
   * @param time milliseconds since the epoch; in the past for right away, even if a poll is running
   * @param session the session to poll; all of them by default
   */
  pollBy(time: number, session?: SessionRef): void;
}
