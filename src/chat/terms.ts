import type { Http } from '../api/http.ts';
import type { Clock } from '../clock.ts';
import type { Message } from '../contract/messages.ts';
import type { PartnerctlError } from '../errors.ts';
import type { FollowStart } from './session.ts';

/*
 * What a follower is told, and what it tells.
 */

/** What following needs of the world. */
export interface FollowParts {
  readonly http: Http;
  readonly clock: Clock;
  readonly random: () => number;
  /** Ends the following. */
  readonly interrupt: AbortSignal;
}

export interface FollowOptions {
  readonly source_id: string;
  readonly sessions: readonly { readonly session_id: string; readonly start: FollowStart }[];
  /** False: end when everything that is there has been read. */
  readonly follow: boolean;
  /** A fixed pause between two polls of a session, in milliseconds. */
  readonly intervalMs?: number | undefined;
  /** End after this time, whatever came. */
  readonly timeoutMs?: number | undefined;
  /** Fail when the service has been out of reach for so long; without following, 30 s by default. */
  readonly maxOutageMs?: number | undefined;
  /**
   * End once so many replies have come that were not there in the beginning (for a session that begins after a given
   * message, all count), or, with `settleMs`, once there was one and nothing more came for that time.
   */
  readonly until?: { readonly replies: number; readonly settleMs?: number | undefined } | undefined;
  /** Time limit of one poll; it grows while polls fail. */
  readonly pollTimeoutMs?: number | undefined;
  /** Whether a reply is expected from the beginning on, because something was just sent. */
  readonly awaiting?: boolean | undefined;
  /** Whether the message to begin after was only just registered, so that the history may not know it yet. */
  readonly registered?: boolean | undefined;
}

export type FollowEvent =
  | {
      readonly kind: 'message';
      readonly session_id: string;
      readonly message: Message;
      /** Whether it was there when the following began. */
      readonly backlog: boolean;
    }
  /** The service cannot be reached; it goes on trying. Said once in an outage. */
  | { readonly kind: 'lost'; readonly error: PartnerctlError }
  /** It can again, and what came meanwhile has been read: `missed` messages. */
  | { readonly kind: 'back'; readonly outageMs: number; readonly missed: number }
  /** The service does not know the session, or anything at the address. It is taken for one without messages. */
  | { readonly kind: 'unknown'; readonly session_id: string; readonly error: PartnerctlError }
  /** Messages are missing, or may be: `seen` says what tells so. */
  | { readonly kind: 'gap'; readonly session_id: string; readonly seen: string }
  /** All that was there in the beginning has been read. `latest`: the last ids seen, oldest first. */
  | { readonly kind: 'read'; readonly session_id: string; readonly latest: readonly string[] }
  /** Always the last. */
  | {
      readonly kind: 'end';
      readonly why: 'read' | 'replied' | 'timeout' | 'interrupted';
      /** The last failure, when a session could not be read at the end. */
      readonly error: PartnerctlError | undefined;
      /** Whether any session was read at all. */
      readonly wasRead: boolean;
    };

/** What people are to be told besides the messages. */
export type FollowNotice = Extract<FollowEvent, { kind: 'lost' | 'back' | 'unknown' | 'gap' }>;

export type EndReason = Extract<FollowEvent, { kind: 'end' }>['why'];

export interface Follower {
  /** To be pulled once. @throws PartnerctlError as `follow` says */
  readonly events: AsyncGenerator<FollowEvent, void, void>;
  /** Something was sent in a session: its reply is looked for at once. */
  sent(sessionId: string): void;
}
