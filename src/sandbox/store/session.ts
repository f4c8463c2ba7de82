import type { Message, PendingReply } from './changes.ts';

/** One chat session of a source: its messages in order, and the replies its agent still has to plan or send. */
export class Session {
  readonly source_id: string;
  readonly session_id: string;
  readonly #messages: Message[] = [];
  readonly #indexById = new Map<string, number>();
  readonly #byExternalId = new Map<string, Message>();
  readonly #pending: PendingReply[] = [];
  #unanswered: Message[] = [];

  constructor(sourceId: string, sessionId: string) {
    this.source_id = sourceId;
    this.session_id = sessionId;
  }

  /** @param needsReply whether the agent still has to reply to the message */
  add(message: Message, needsReply: boolean): void {
    this.#indexById.set(message.message_id, this.#messages.length);
    this.#messages.push(message);
    if (message.external_message_id !== null) this.#byExternalId.set(message.external_message_id, message);
    if (needsReply) this.#unanswered.push(message);
    const delivered = this.#pending.findIndex(({ message_id }) => message_id === message.message_id);
    if (delivered !== -1) this.#pending.splice(delivered, 1);
  }

  /** The agent takes all unanswered messages and plans these replies. */
  planReplies(replies: readonly PendingReply[]): void {
    this.#unanswered = [];
    for (const reply of replies) {
      const earlier = this.#pending.findLastIndex(({ due_at }) => due_at <= reply.due_at);
      this.#pending.splice(earlier + 1, 0, reply);
    }
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** Messages that the agent has not planned a reply to, oldest first. */
  get unanswered(): readonly Message[] {
    return this.#unanswered;
  }

  /** Planned replies, the next one first. */
  get pending(): readonly PendingReply[] {
    return this.#pending;
  }

  /** The index in `messages`, or undefined for a message of another session. */
  indexOf(messageId: string): number | undefined {
    return this.#indexById.get(messageId);
  }

  findByExternalId(externalId: string): Message | undefined {
    return this.#byExternalId.get(externalId);
  }
}
