/** A session of a source. */
export interface SessionRef {
  readonly source_id: string;
  readonly session_id: string;
}

/** Returns a key for a session that is unique across sources. */
export function sessionKey({ source_id, session_id }: SessionRef): string {
  return JSON.stringify([source_id, session_id]);
}
