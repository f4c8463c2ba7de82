import * as v from 'valibot';

export const messageRoleSchema = v.picklist(['user', 'assistant'], 'must be one of user, assistant');

export const messageRecordSchema = v.strictObject({
  message_id: v.string(),
  source_id: v.string(),
  session_id: v.string(),
  role: messageRoleSchema,
  text: v.string(),
  /** Null for messages that no caller registered. */
  external_message_id: v.nullable(v.string()),
  /** For a reply the newest of the messages that it answers. */
  in_reply_to: v.nullable(v.string()),
  /** The scheduled job whose run the message is; only such messages have it. */
  cron_job_id: v.optional(v.string()),
  created_at: v.string(),
});

const pendingReplySchema = v.strictObject({
  /** The id that the reply will have: a reply that exists is no longer pending, however often a crash intervened. */
  message_id: v.string(),
  role: messageRoleSchema,
  text: v.string(),
  in_reply_to: v.string(),
  /** Milliseconds since the epoch. */
  due_at: v.number(),
});

export const runRecordSchema = v.strictObject({
  source_id: v.string(),
  session_id: v.string(),
  replies: v.array(pendingReplySchema),
});

/** A message of a session, in either direction (spec §2). */
export type MessageRecord = v.InferOutput<typeof messageRecordSchema>;

/** What an agent is going to say. */
export type PendingReply = v.InferOutput<typeof pendingReplySchema>;

/** An agent has taken everything that waited for it in a session, and these are the replies that will come of it. */
export type RunRecord = v.InferOutput<typeof runRecordSchema>;

/** One session of a source: its messages in the order in which they came to exist, and the agent's work on it. */
export class Thread {
  readonly source_id: string;
  readonly session_id: string;
  readonly #messages: MessageRecord[] = [];
  readonly #positions = new Map<string, number>();
  readonly #byExternalId = new Map<string, MessageRecord>();
  readonly #pending: PendingReply[] = [];
  #waiting: MessageRecord[] = [];

  constructor(sourceId: string, sessionId: string) {
    this.source_id = sourceId;
    this.session_id = sessionId;
  }

  /** @param waits whether the agent has yet to take the message. */
  add(message: MessageRecord, waits: boolean): void {
    this.#positions.set(message.message_id, this.#messages.length);
    this.#messages.push(message);
    if (message.external_message_id !== null) this.#byExternalId.set(message.external_message_id, message);
    if (waits) this.#waiting.push(message);
    const fulfilled = this.#pending.findIndex(({ message_id }) => message_id === message.message_id);
    if (fulfilled !== -1) this.#pending.splice(fulfilled, 1);
  }

  run(replies: readonly PendingReply[]): void {
    this.#waiting = [];
    for (const reply of replies) {
      const earlier = this.#pending.findLastIndex(({ due_at }) => due_at <= reply.due_at);
      this.#pending.splice(earlier + 1, 0, reply);
    }
  }

  get messages(): readonly MessageRecord[] {
    return this.#messages;
  }

  /** Messages that the agent has yet to take, oldest first. */
  get waiting(): readonly MessageRecord[] {
    return this.#waiting;
  }

  /** Replies to come, the next one first. */
  get pending(): readonly PendingReply[] {
    return this.#pending;
  }

  /** Where a message stands among `messages`; undefined for one of another session. */
  positionOf(messageId: string): number | undefined {
    return this.#positions.get(messageId);
  }

  byExternalId(externalId: string): MessageRecord | undefined {
    return this.#byExternalId.get(externalId);
  }
}

function keyOf(sourceId: string, sessionId: string): string {
  return JSON.stringify([sourceId, sessionId]);
}

/** The sessions of all sources. */
export class ThreadTable {
  readonly #threads = new Map<string, Thread>();

  add(message: MessageRecord, waits: boolean): void {
    this.#thread(message.source_id, message.session_id).add(message, waits);
  }

  run({ source_id, session_id, replies }: RunRecord): void {
    this.#thread(source_id, session_id).run(replies);
  }

  /** Undefined for a session in which nothing was said. */
  get(sourceId: string, sessionId: string): Thread | undefined {
    return this.#threads.get(keyOf(sourceId, sessionId));
  }

  all(): Iterable<Thread> {
    return this.#threads.values();
  }

  #thread(sourceId: string, sessionId: string): Thread {
    const key = keyOf(sourceId, sessionId);
    const there = this.#threads.get(key);
    if (there) return there;
    const thread = new Thread(sourceId, sessionId);
    this.#threads.set(key, thread);
    return thread;
  }
}
