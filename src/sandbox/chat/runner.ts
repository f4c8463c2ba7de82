import { makeId } from '../ids.ts';
import type { SourceRecord } from '../store/agents.ts';
import type { MessageRecord, RunRecord, Thread } from '../store/messages.ts';
import type { Store } from '../store/store.ts';
import type { Change } from '../store/world.ts';
import type { Timeline } from '../time/timeline.ts';
import { planReplies } from './script.ts';

interface Parts {
  readonly store: Store;
  readonly timeline: Timeline;
}

interface Registration {
  readonly session_id: string;
  readonly text: string;
  readonly external_message_id: string;
  readonly cron_job_id?: string;
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

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Registers a message for the agent (spec §4.3), or finds the one that has the same external id in the session.
   * @param together what is to be committed along with it, in either case.
   */
  receive(
    source: SourceRecord,
    wanted: Registration,
    ...together: Change[]
  ): { message: MessageRecord; created: boolean } {
    const { store } = this.#parts;
    const { session_id, text, external_message_id, cron_job_id } = wanted;
    const thread = store.world.threads.get(source.source_id, session_id);
    const existing = thread?.byExternalId(external_message_id);
    if (existing) {
      store.commit(...together);
      return { message: existing, created: false };
    }
    const message: MessageRecord = {
      message_id: makeId('msg'),
      source_id: source.source_id,
      session_id,
      role: 'user',
      text,
      external_message_id,
      in_reply_to: null,
      ...(cron_job_id !== undefined && { cron_job_id }),
      created_at: this.#moment(thread),
    };
    const changes: Change[] = [...together, { kind: 'message', message, waits: source.reply_capable }];
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
    const { store, timeline } = this.#parts;
    const ends: MessageRecord[] = [];
    // Many at once are dated back, or the last of them would be from the future.
    const start = timeline.now() - count;
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
  #moment(thread: Thread | undefined, now = this.#parts.timeline.now()): string {
    const newest = thread?.messages.at(-1)?.created_at;
    return new Date(newest === undefined ? now : Math.max(now, Date.parse(newest) + 1)).toISOString();
  }

  #run(source: SourceRecord, messages: readonly MessageRecord[]): RunRecord {
    const { world } = this.#parts.store;
    const { source_id } = source;
    const agent = world.agents.get(source.agent_id);
    const newest = messages.at(-1);
    if (!agent || !newest) throw new Error(`There is nothing to run for the source ${source_id}.`);
    const taken_at = this.#parts.timeline.now();
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

  /** Sees to it that the session's next reply comes when it is due. */
  #arm(sourceId: string, sessionId: string): void {
    const { store, timeline } = this.#parts;
    const thread = store.world.threads.get(sourceId, sessionId);
    const key = JSON.stringify(['reply', sourceId, sessionId]);
    timeline.set(key, thread?.pending[0]?.due_at, () => {
      if (thread) this.#deliverNext(thread);
      this.#arm(sourceId, sessionId);
    });
  }

  #deliverNext(thread: Thread): void {
    const { store } = this.#parts;
    const [next, ...others] = thread.pending.slice(0, 2);
    if (!next) return;
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
  }
}
