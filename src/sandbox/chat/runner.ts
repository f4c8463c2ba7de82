import { makeId } from '../ids.ts';
import type { SourceRecord } from '../store/agents.ts';
import type { MessageRecord, RunRecord, Thread } from '../store/messages.ts';
import type { Store } from '../store/store.ts';
import type { Change } from '../store/world.ts';
import type { Schedule } from './schedule.ts';
import { planReplies } from './script.ts';

/** Longer waits are not for timers to keep. */
const MAX_TIMER_MS = 2 ** 31 - 1;

interface Parts {
  readonly store: Store;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly schedule: Schedule;
  readonly closing: AbortSignal;
}

interface Registration {
  readonly session_id: string;
  readonly text: string;
  readonly external_message_id: string;
}

/**
 * Takes messages in and has agents answer them later.
 *
 * A message, the agent's taking it, and the replies that will come of it are committed together, and so are a reply and
 * what follows from its coming. A reply has its id from the moment it is decided on. So a crash finds each reply either
 * pending or there, never lost and never twice.
 */
export class AgentRunner {
  readonly #parts: Parts;
  /** By session, when its earliest timer goes off. */
  readonly #armed = new Map<string, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Registers a caller's message (spec §4.3), or finds the one that has the same external id in the session. */
  receive(source: SourceRecord, wanted: Registration): { message: MessageRecord; created: boolean } {
    const { store } = this.#parts;
    const { session_id, text, external_message_id } = wanted;
    const thread = store.world.threads.get(source.source_id, session_id);
    const existing = thread?.byExternalId(external_message_id);
    if (existing) return { message: existing, created: false };
    const message: MessageRecord = {
      message_id: makeId('msg'),
      source_id: source.source_id,
      session_id,
      role: 'user',
      text,
      external_message_id,
      in_reply_to: null,
      created_at: this.#moment(thread),
    };
    const changes: Change[] = [{ kind: 'message', message, waits: source.reply_capable }];
    // A workflow runs for each message by itself; an inbox has one worker, who takes up next what came in meanwhile.
    const isTaken = source.routing_mode === 'session_workflow' || !thread?.pending.length;
    if (source.reply_capable && isTaken) changes.push({ kind: 'run', run: this.#run(source, [message]) });
    store.commit(...changes);
    this.#arm(source.source_id, session_id);
    return { message, created: true };
  }

  /**
   * Puts messages in a session without an agent's knowledge.
   * @param textAt the text of each, by its number from 1.
   * @returns the first and the last of them.
   */
  inject(
    source: SourceRecord,
    { session_id, role }: Pick<MessageRecord, 'session_id' | 'role'>,
    count: number,
    textAt: (number: number) => string,
  ): MessageRecord[] {
    const { store, now } = this.#parts;
    const ends: MessageRecord[] = [];
    // Many at once are dated back, or the last of them would be from the future.
    const start = now() - count;
    for (let number = 1; number <= count; number += 1) {
      const message: MessageRecord = {
        message_id: makeId('msg'),
        source_id: source.source_id,
        session_id,
        role,
        text: textAt(number),
        external_message_id: null,
        in_reply_to: null,
        created_at: this.#moment(store.world.threads.get(source.source_id, session_id), start + number),
      };
      store.commit({ kind: 'message', message, waits: false });
      if (number === 1 || number === count) ends.push(message);
    }
    return ends;
  }

  /** Takes up the replies that were pending when the data was last in use. */
  resume(): void {
    for (const { source_id, session_id } of this.#parts.store.world.threads.all()) this.#arm(source_id, session_id);
  }

  /** The present, or just after the session's newest message: moments within a session differ and go up. */
  #moment(thread: Thread | undefined, now = this.#parts.now()): string {
    const newest = thread?.messages.at(-1)?.created_at;
    return new Date(newest === undefined ? now : Math.max(now, Date.parse(newest) + 1)).toISOString();
  }

  #run(source: SourceRecord, messages: readonly MessageRecord[]): RunRecord {
    const { world } = this.#parts.store;
    const { source_id } = source;
    const agent = world.agents.get(source.agent_id);
    const newest = messages.at(-1);
    if (!agent || !newest) throw new Error(`There is nothing to run for the source ${source_id}.`);
    const taken_at = this.#parts.now();
    const text = messages.map((message) => message.text).join('\n');
    const replies = planReplies(world.script, agent, text).map((reply) => ({
      message_id: makeId('msg'),
      role: reply.role,
      text: reply.text,
      in_reply_to: newest.message_id,
      due_at: taken_at + reply.after_ms,
    }));
    return { source_id, session_id: newest.session_id, replies };
  }

  /** Sees to it that a timer goes off when the session's next reply is due. */
  #arm(sourceId: string, sessionId: string): void {
    const { store, now, schedule } = this.#parts;
    const due = store.world.threads.get(sourceId, sessionId)?.pending[0]?.due_at;
    const key = JSON.stringify([sourceId, sessionId]);
    if (due === undefined || (this.#armed.get(key) ?? Number.POSITIVE_INFINITY) <= due) return;
    this.#armed.set(key, due);
    const goOff = (): void => {
      if (this.#armed.get(key) === due) this.#armed.delete(key);
      this.#deliver(sourceId, sessionId);
    };
    schedule(goOff, Math.min(Math.max(due - now(), 0), MAX_TIMER_MS));
  }

  /** Writes the replies that are due, in the order of their moments. */
  #deliver(sourceId: string, sessionId: string): void {
    const { store, now, closing } = this.#parts;
    // After a reset there may be no such session any more.
    const thread = store.world.threads.get(sourceId, sessionId);
    if (closing.aborted || !thread) return;
    while (this.#deliverNext(thread, now())) {
      // Each one may make another due.
    }
    // Nobody waits for it: if it cannot be written, every answer from now on says so.
    store.durable().catch(() => undefined);
    this.#arm(sourceId, sessionId);
  }

  /** @returns whether there was a reply to write. */
  #deliverNext(thread: Thread, now: number): boolean {
    const { store } = this.#parts;
    const [next, ...others] = thread.pending.slice(0, 2);
    if (!next || next.due_at > now) return false;
    const { source_id, session_id } = thread;
    const { message_id, role, text, in_reply_to } = next;
    const created_at = this.#moment(thread);
    const message = {
      message_id,
      source_id,
      session_id,
      role,
      text,
      external_message_id: null,
      in_reply_to,
      created_at,
    };
    const changes: Change[] = [{ kind: 'message', message, waits: false }];
    const source = store.world.agents.source(source_id);
    const isIdle = others.length === 0;
    if (source && isIdle && thread.waiting.length > 0) {
      changes.push({ kind: 'run', run: this.#run(source, thread.waiting) });
    }
    store.commit(...changes);
    return true;
  }
}
