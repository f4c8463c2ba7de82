import type { Scheduler } from '../scheduler.ts';
import { createId } from '../service.ts';
import type { AgentRun, Change, ChatSource, Message } from '../store/changes.ts';
import type { Session } from '../store/session.ts';
import type { Store } from '../store/store.ts';
import { planReplies } from './reply-script.ts';

interface AgentRunnerDeps {
  readonly store: Store;
  readonly scheduler: Scheduler;
  /** Commits changes, and delivers the agents' messages among them to webhooks. */
  readonly commit: (...changes: readonly Change[]) => void;
}

interface NewMessage {
  readonly session_id: string;
  readonly text: string;
  readonly external_message_id: string;
  readonly cron_job_id?: string;
}

/**
 * Registers messages and sends the agents' replies when they are due.
 *
 * A message is committed together with the replies that its agent plans, and a reply together with the next run that it
 * triggers. A reply gets its id when it is planned. So after a crash each reply is either pending or sent: never lost, never
 * sent twice.
 */
export class AgentRunner {
  readonly #deps: AgentRunnerDeps;

  constructor(deps: AgentRunnerDeps) {
    this.#deps = deps;
  }

  /**
   * Registers a message for the agent (spec §4.3), or finds the one with the same external id in the session.
   * @param otherChanges changes to commit in the same batch, in either case
   */
  receive(source: ChatSource, input: NewMessage, ...otherChanges: Change[]): { message: Message; created: boolean } {
    const { store } = this.#deps;
    const { session_id, text, external_message_id, cron_job_id } = input;
    const session = store.world.session(source.source_id, session_id);
    const existing = session?.findByExternalId(external_message_id);
    if (existing) {
      store.commit(...otherChanges);
      return { message: existing, created: false };
    }
    const message: Message = {
      message_id: createId('msg'),
      source_id: source.source_id,
      session_id,
      role: 'user',
      text,
      external_message_id,
      in_reply_to: null,
      ...(cron_job_id !== undefined && { cron_job_id }),
      created_at: this.#nextTimestamp(session),
    };
    const changes: Change[] = [...otherChanges, { kind: 'message', message, needs_reply: source.reply_capable }];
    // A workflow runs once per message. An inbox has one worker, which takes the waiting messages when it is done.
    const startsRun = source.routing_mode === 'session_workflow' || !session?.pending.length;
    if (source.reply_capable && startsRun) changes.push({ kind: 'agent_run', run: this.#planRun(source, [message]) });
    store.commit(...changes);
    this.#scheduleNextReply(source.source_id, session_id);
    return { message, created: true };
  }

  /**
   * Adds messages to a session without a reaction of the agent.
   * @param textOf returns the text of each message, by its number from 1
   * @param commit commits the change that adds a message
   * @returns the ids of the first and the last message
   */
  inject(
    source: ChatSource,
    { session_id, role, count }: Pick<Message, 'session_id' | 'role'> & { readonly count: number },
    textOf: (number: number) => string,
    commit = this.#deps.commit,
  ): { first_message_id: string; last_message_id: string } {
    const { store, scheduler } = this.#deps;
    const ids: string[] = [];
    // Backdated: each message needs a later timestamp than the one before, and none may be in the future.
    const start = scheduler.now() - count;
    for (let number = 1; number <= count; number += 1) {
      const message: Message = {
        message_id: createId('msg'),
        source_id: source.source_id,
        session_id,
        role,
        text: textOf(number),
        external_message_id: null,
        in_reply_to: null,
        created_at: this.#nextTimestamp(store.world.session(source.source_id, session_id), start + number),
      };
      commit({ kind: 'message', message, needs_reply: false });
      ids.push(message.message_id);
    }
    return { first_message_id: ids.at(0) ?? '', last_message_id: ids.at(-1) ?? '' };
  }

  /** Schedules the replies that were pending when the sandbox last stopped. */
  resume(): void {
    const { sessions } = this.#deps.store.world;
    for (const { source_id, session_id } of sessions.values()) this.#scheduleNextReply(source_id, session_id);
  }

  /** The current time, or just after the session's newest message: timestamps in a session are unique and ascending. */
  #nextTimestamp(session: Session | undefined, now = this.#deps.scheduler.now()): string {
    const newest = session?.messages.at(-1)?.created_at;
    return new Date(newest === undefined ? now : Math.max(now, Date.parse(newest) + 1)).toISOString();
  }

  #planRun(source: ChatSource, messages: readonly Message[]): AgentRun {
    const { world } = this.#deps.store;
    const { source_id } = source;
    const agent = world.agents.get(source.agent_id);
    const newest = messages.at(-1);
    if (!agent || !newest) throw new Error(`The source ${source_id} has no agent, or no message to reply to.`);
    const now = this.#deps.scheduler.now();
    const text = messages.map((message) => message.text).join('\n');
    const replies = planReplies(world.script, agent, text).map((reply) => ({
      message_id: createId('msg'),
      role: reply.role,
      text: reply.text,
      in_reply_to: newest.message_id,
      due_at: now + reply.after_ms,
    }));
    return { source_id, session_id: newest.session_id, replies };
  }

  #scheduleNextReply(sourceId: string, sessionId: string): void {
    const { store, scheduler } = this.#deps;
    const session = store.world.session(sourceId, sessionId);
    const key = JSON.stringify(['reply', sourceId, sessionId]);
    scheduler.set(key, session?.pending[0]?.due_at, () => {
      if (session) this.#sendNextReply(session);
      this.#scheduleNextReply(sourceId, sessionId);
    });
  }

  #sendNextReply(session: Session): void {
    const { store, commit } = this.#deps;
    const next = session.pending[0];
    if (!next) return;
    const { source_id, session_id } = session;
    const { message_id, role, text, in_reply_to } = next;
    const created_at = this.#nextTimestamp(session);
    const from = { source_id, session_id, role, text, external_message_id: null, in_reply_to, created_at };
    const changes: Change[] = [{ kind: 'message', message: { message_id, ...from }, needs_reply: false }];
    const source = store.world.sources.get(source_id);
    const isLast = session.pending.length === 1;
    if (source && isLast && session.unanswered.length > 0) {
      changes.push({ kind: 'agent_run', run: this.#planRun(source, session.unanswered) });
    }
    commit(...changes);
  }
}
