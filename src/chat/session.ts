/** A session of a source. */
export interface SessionRef {
  readonly source_id: string;
  readonly session_id: string;
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
