import ms from 'ms';
import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import type { Message } from '../contract/messages.ts';
import { NoReplyError, type PartnerctlError } from '../errors.ts';
import type { StreamEvent } from '../output/command-result.ts';
import { type SessionRef, sessionKey } from '../state-old/session-ref.ts';
import { type Alert, AlertCommand } from './alert-command.ts';
import { findEndFailure } from './end-failure.ts';
import type { WatchedSessions } from './find-watched.ts';
import { follow } from './follow.ts';
import type { FollowInput } from './follow-args.ts';
import type { EndEvent, FollowEvent, Follower } from './follow-types.ts';
import { isNotice, matchesMessage, toStreamEvent, writeFollowNotice } from './format-message.ts';
import { maxPollRetries } from './poll-failure.ts';
import { labelSessions } from './session-labels.ts';
import { AlertDecision, addMessage, type Conversation, compareUrgency, unreadConversation } from './unanswered.ts';
import { startWebhookPolls, type WebhookPolls } from './webhook-polls.ts';

/** When to alert, and what to run then; without a command, an alert ends the watch. */
export interface AlertInput {
  readonly afterMs: number;
  readonly command: string | undefined;
}

export interface WatchOptions extends WatchedSessions, FollowInput {
  /** Shows only messages that match. */
  readonly grep: RegExp | undefined;
  /** Marks what matches; global. */
  readonly highlight: RegExp | undefined;
  readonly alert: AlertInput | undefined;
}

/** How many earlier messages of each session are read to tell since when it is unanswered. */
const EARLIER_MESSAGES = 20;
const READ_OUTAGE_MS = 30_000;

/** Watches sessions: first reads the state of each, then follows them all. */
export class Watch {
  private readonly context: Context;
  private readonly options: WatchOptions;
  private readonly follower: Follower;
  private readonly conversations: Map<string, Conversation>;
  private readonly labels: ReadonlyMap<string, string>;
  private readonly alerts: AlertDecision | undefined;
  /** Messages to show, and conversations to alert about. */
  private readonly pending: StreamEvent[] = [];
  private readonly overdue: Conversation[] = [];
  private readonly unread: Set<string>;
  private end: EndEvent | undefined;

  constructor(context: Context, http: Http, options: WatchOptions) {
    const { clock, random, signals, flags } = context;
    const { sessions, intervalMs, maxOutageMs } = options;
    this.context = context;
    this.options = options;
    this.conversations = new Map(sessions.map((session) => [sessionKey(session), unreadConversation(session)]));
    this.unread = new Set(this.conversations.keys());
    this.labels = labelSessions(sessions);
    this.alerts = options.alert && new AlertDecision(options.alert.afterMs);
    this.follower = follow(
      { http, clock, random, interrupt: signals.interrupt },
      {
        sessions: sessions.map((session) => ({ ...session, start: { from: 'last', count: EARLIER_MESSAGES } })),
        follow: true,
        intervalMs,
        maxOutageMs: maxOutageMs ?? (options.follow ? undefined : READ_OUTAGE_MS),
        maxRetries: maxPollRetries(options, flags.retries),
        skipsUnreadable: true,
        reportsPolls: true,
      },
    );
  }

  /**
   * Reads the state of each conversation. Does not wait for unreachable sessions if it will follow them.
   * @returns the conversations, the longest unanswered first
   * @throws PartnerctlError as `follow` does, and if the time is up
   */
  async readConversations(): Promise<readonly Conversation[]> {
    while (this.unread.size > 0) {
      const { value: event, done } = await this.follower.events.next();
      if (done) break;
      await this.handleEvent(event);
      if (event.kind === 'outage-started' && this.options.follow) break;
    }
    if (!this.options.follow) await this.follower.events.return();
    if (this.end) this.throwFailure(this.end);
    return [...this.conversations.values()].sort(compareUrgency);
  }

  /**
   * Follows the conversations, after `readConversations`.
   * @throws NoReplyError if a conversation is unanswered for too long; PartnerctlError as `follow` does
   */
  async *follow(): AsyncGenerator<StreamEvent, void, void> {
    const { alert } = this.options;
    const command = alert?.command === undefined ? undefined : new AlertCommand(this.context, alert.command);
    let trigger: WebhookPolls | undefined;
    try {
      trigger = await startWebhookPolls(this.context, this.options.webhook);
      trigger?.connect(this.follower, this.options.sessions);
      while (!this.end) {
        yield* this.pending.splice(0);
        const overdue = this.findOverdue();
        if (overdue && !command) throw overdue;
        for (const conversation of this.overdue.splice(0).sort(compareUrgency)) {
          const found = this.toAlert(conversation);
          command?.start(found);
          yield this.toAlertEvent(found);
        }
        const { value: event, done } = await this.follower.events.next();
        if (done) break;
        await this.handleEvent(event);
      }
      if (this.end) this.throwFailure(this.end);
    } finally {
      await this.follower.events.return();
      await Promise.all([command?.close(), trigger?.close()]);
    }
  }

  /** The error for the conversations that are unanswered for too long, once they have been read; undefined without any. */
  findOverdue(): PartnerctlError | undefined {
    return this.overdue.length === 0 ? undefined : this.overdueError(this.overdue.toSorted(compareUrgency));
  }

  private throwFailure(end: EndEvent): void {
    const { follow: isFollowing } = this.options;
    const failure = findEndFailure(end, isFollowing, this.context);
    if (failure) throw failure;
  }

  private async handleEvent(event: FollowEvent): Promise<void> {
    if (event.kind === 'end') this.end = event;
    else if (event.kind === 'message') this.addMessage(event, event.message, event.isBacklog);
    else if (event.kind === 'polled') this.setRead(event, event.at);
    else if (event.kind === 'skipped') this.unread.delete(sessionKey(event));
    // Missing messages at the beginning of a history do not matter here.
    if (isNotice(event) && event.kind !== 'gap') await writeFollowNotice(this.context, event);
  }

  /** @param readAt all messages that existed at this time are known */
  private setRead(ref: SessionRef, readAt: number): void {
    const key = sessionKey(ref);
    const conversation = this.conversations.get(key);
    this.unread.delete(key);
    if (!conversation) return;
    this.conversations.set(key, { ...conversation, isRead: true });
    if (this.alerts?.take(conversation, readAt)) this.overdue.push(conversation);
  }

  private addMessage({ source_id, session_id }: SessionRef, message: Message, isBacklog: boolean): void {
    const ref = { source_id, session_id };
    const key = sessionKey(ref);
    const before = this.conversations.get(key) ?? unreadConversation(ref);
    const conversation = addMessage(before, message, this.context.clock.now());
    this.conversations.set(key, conversation);
    const dueAt = this.alerts?.dueAt(conversation);
    if (dueAt !== undefined) this.follower.pollBy(dueAt, ref);
    const { grep, highlight, showTimestamps: showTimestamp } = this.options;
    if (isBacklog || (grep && !matchesMessage(message, grep))) return;
    this.pending.push(toStreamEvent(ref, message, { label: this.labels.get(key), showTimestamp, highlight }));
  }

  private toAlert({ source_id, session_id, unanswered }: Conversation): Alert {
    const unanswered_since = new Date(unanswered?.since ?? Number.NaN).toISOString();
    const { space_id } = this.options;
    return { space_id, source_id, session_id, unanswered_since, message_id: unanswered?.message_id ?? '' };
  }

  private describeWait({ unanswered_since }: Alert): string {
    return `unanswered for ${ms(this.context.clock.now() - Date.parse(unanswered_since))}`;
  }

  private toAlertEvent(alert: Alert): StreamEvent {
    const { source_id, session_id, message_id, unanswered_since, space_id = null } = alert;
    const wait = this.describeWait(alert);
    return {
      json: { alert: 'unanswered', space_id, source_id, session_id, message_id, unanswered_since },
      cells: [unanswered_since, session_id, message_id, 'alert', wait],
      text: [{ text: `[${this.labels.get(sessionKey(alert))}] alert: ${wait}\n`, tone: 'warn' }],
    };
  }

  private overdueError(overdue: readonly Conversation[]): PartnerctlError {
    const [first, ...others] = overdue.map((conversation) => this.toAlert(conversation));
    if (!first) throw new RangeError('no conversation is overdue');
    const { source_id, session_id } = first;
    const read = ['chat', 'tail', '--source', source_id, '--session', session_id];
    const more =
      others.length === 0
        ? ''
        : ` So ${others.length === 1 ? 'is' : 'are'} ${others.length} more: ${others.map((each) => this.labels.get(sessionKey(each))).join(', ')}.`;
    return new NoReplyError(
      `Session ${session_id} of source ${source_id} is ${this.describeWait(first)}, since ${first.unanswered_since}.${more}`,
      {
        hint: `To read it: ${shellCommand(read, this.context.flags)}`,
        details: { ...first, ...(others.length > 0 && { others }) },
      },
    );
  }
}
