import type { Http } from '../api/http.ts';
import type { SessionRef } from '../contract/messages.ts';
import type { Clock } from '../platform/clock.ts';
import type { LocationContext } from '../state/location.ts';
import type { FormatCommand } from './source.ts';

/** What a conversation needs of a command. */
export interface ChatContext extends LocationContext {
  readonly flags: LocationContext['flags'] & { readonly timeout?: number };
  readonly clock: Clock;
  readonly random: () => number;
  readonly signals: { readonly interrupt: AbortSignal };
  /** Aborts at an interrupt, and when the time of the command is up. */
  readonly abortSignal: AbortSignal;
  readonly command: FormatCommand;
  http(): Promise<Http>;
  readonly redactor: { redact(text: string): string };
  warn(text: string): Promise<void>;
}

/** Returns a key for a session that is unique across sources. */
export function sessionKey({ source_id, session_id }: SessionRef): string {
  return JSON.stringify([source_id, session_id]);
}

/**
 * Where in a session to begin: with its first message, after a message, or with the last `count` messages (0: only new
 * ones). `recent`: the ids before `message_id`, oldest first, if an earlier run recorded them.
 */
export type FollowStart =
  | { readonly from: 'start' }
  | { readonly from: 'after'; readonly message_id: string; readonly recent?: readonly string[] }
  | { readonly from: 'last'; readonly count: number };
