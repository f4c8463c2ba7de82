import { type NewMessage, postMessage, type SentMessage } from '../api/chat.ts';
import type { Message } from '../contract/messages.ts';
import {
  EXIT,
  InterruptedError,
  NotFoundError,
  PartnerctlError,
  ServiceError,
  ShapeError,
  withHint,
} from '../errors.ts';
import { toErrorObject } from '../output/error-object.ts';
import type { PromptLine } from '../output/prompt-line.ts';
import { sanitizeText } from '../output/sanitize.ts';
import { withReason } from '../output/sentences.ts';
import { wrapText } from '../output/wrap.ts';
import type { SessionRef } from '../state-old/session-ref.ts';
import { followSource } from './follow-source.ts';
import type { FollowDeps, FollowEvent, Follower } from './follow-types.ts';
import { formatNotice, isNotice } from './format-message.ts';
import { type Input, parseInput } from './parse-input.ts';

const HELP = [
  '/session [id]  show the session, or switch to another one',
  '/resend        send the last message again; it is registered once',
  '/info          show the source, the session, and the connection',
  '/quit          leave (like Ctrl-D, and Ctrl-C on an empty line)',
  'Alt+Enter starts a new line. To send a message that starts with /, type two: //',
].join('\n');

export interface InteractiveChatDeps extends FollowDeps {
  /** Creates an external_message_id. */
  readonly newId: () => string;
  readonly prompt: PromptLine;
  /** The command that sends a message again under its external_message_id. */
  readonly resendCommand: (message: NewMessage) => string;
  readonly formatMessage: (message: Message) => Promise<string>;
  /** Records a session that has messages, so that `chat watch` knows it. */
  readonly rememberSession: (session: SessionRef) => Promise<void>;
  /** See `FoundSource`. */
  readonly renewSource: () => Promise<string | undefined>;
  /** Text wraps at its width. */
  readonly terminal: { readonly columns: number };
}

/** How many earlier messages a conversation shows at first. */
const EARLIER_MESSAGES = 10;
export const READY_LABEL = '› ';
const AWAITING_LABEL = '… ';

function describeError(error: unknown): string {
  const { message } = toErrorObject(error);
  const why = error instanceof PartnerctlError ? error.info.why : undefined;
  return withReason(message, why);
}

/** A conversation at a prompt: sends what is typed, and shows new messages above the line being typed. */
export class InteractiveChat {
  private readonly deps: InteractiveChatDeps;
  private session: SessionRef;
  private follower: Follower | undefined;
  private leavingSession = new AbortController();
  private lastMessage: NewMessage | undefined;
  /** Ids of the messages that were typed here and are on the screen already. */
  private readonly ownIds = new Set<string>();
  private isAwaitingReply = false;
  /** Whether a reply arrived since the last message was typed: resending that message then expects none. */
  private hasReply = false;
  private isConnected = true;
  private sending: Promise<void> = Promise.resolve();
  /** Messages that are not known to be registered, with the error of those that failed. */
  private readonly unsent = new Map<NewMessage, PartnerctlError | undefined>();
  private hasLeft = false;
  private failure: { readonly error: unknown } | undefined;

  constructor(deps: InteractiveChatDeps, session: SessionRef) {
    this.deps = deps;
    this.session = session;
  }

  /**
   * Runs until the person leaves.
   * @throws PartnerctlError if it cannot continue (credentials, balance, --timeout), or if messages were not sent when the
   * person left
   */
  async run(): Promise<void> {
    const { prompt, interrupt } = this.deps;
    const close = (): void => prompt.close();
    interrupt.addEventListener('abort', close, { once: true });
    if (interrupt.aborted) close();
    let following = this.followSession();
    try {
      for await (const text of prompt.entries) {
        const input = parseInput(text);
        if (input.kind === 'quit') break;
        if (input.kind === 'session' && input.session !== undefined) {
          this.leavingSession.abort();
          await following;
          this.session = { ...this.session, session_id: input.session };
          following = this.followSession();
        }
        this.handleInput(input);
      }
      this.hasLeft = true;
      await this.finishSending();
    } finally {
      this.leavingSession.abort();
      prompt.close();
      interrupt.removeEventListener('abort', close);
      await following;
    }
    this.throwFailure();
    const { reason } = interrupt;
    // Ctrl-C is a normal way to leave.
    const isCtrlC = reason instanceof InterruptedError && reason.exitCode === EXIT.interrupted;
    if (interrupt.aborted && !isCtrlC) throw reason;
  }

  /** Waits until every message is sent or has failed, or until the person leaves a second time. */
  private async finishSending(): Promise<void> {
    const isPending = () => [...this.unsent.values()].includes(undefined);
    // The session of a registered message may still be being recorded.
    if (!isPending()) return this.sending;
    const count = [...this.unsent.values()].filter((error) => error === undefined).length;
    const subject = count === 1 ? 'a message is' : `${count} messages are`;
    this.print(`Waiting until ${subject} registered. Press Ctrl-C or Ctrl-D again to leave now.`);
    const leaving = this.deps.prompt.nextLeaveKey().then(() => {
      if (isPending()) this.failure ??= { error: new InterruptedError('Interrupted.') };
    });
    await Promise.race([this.sending, leaving]);
  }

  /** @throws what ended the conversation or kept messages from being sent, with the commands that send them again */
  private throwFailure(): void {
    const messages = [...this.unsent.keys()];
    const { error } = this.failure ?? { error: [...this.unsent.values()].findLast((each) => each !== undefined) };
    if (error === undefined) return;
    if (messages.length === 0 || !(error instanceof PartnerctlError)) throw error;
    const [subject, them] = messages.length === 1 ? ['This message is', 'it'] : ['These messages are', 'them'];
    const commands = messages.map((message) => this.deps.resendCommand(message)).join('\n');
    throw withHint(error, {
      hint: `${subject} not confirmed. To send ${them} without duplicating ${them}:\n${commands}`,
      details: {
        source_id: this.session.source_id,
        external_message_ids: messages.map(({ external_message_id }) => external_message_id),
      },
    });
  }

  private handleInput(input: Input): void {
    switch (input.kind) {
      case 'message':
        this.hasReply = false;
        this.send({ ...this.session, external_message_id: this.deps.newId(), text: input.text });
        break;
      case 'resend':
        if (this.lastMessage) this.send(this.lastMessage);
        else this.print('No message was sent yet.');
        break;
      case 'help':
        this.print(HELP);
        break;
      case 'info':
        this.print(this.describe());
        break;
      case 'session':
        this.print(`session ${this.session.session_id}`);
        break;
      case 'unknown':
        this.print(`Unknown command /${input.name}. /help lists the commands.`);
        break;
      default:
    }
  }

  /** Prints a text above the prompt, sanitized because it may quote the service. */
  private print(text: string): void {
    this.deps.prompt.printAbove(wrapText(sanitizeText(text), this.deps.terminal.columns, '  '));
  }

  private describe(): string {
    const { source_id, session_id } = this.session;
    const lines = [`source     ${source_id}`, `session    ${session_id}`];
    lines.push(`connection ${this.isConnected ? 'up' : 'lost'}`);
    if (this.lastMessage) lines.push(`last       external_message_id ${this.lastMessage.external_message_id}`);
    return lines.join('\n');
  }

  /** Sends messages one at a time, in the order they were typed. */
  private send(message: NewMessage): void {
    this.lastMessage = message;
    this.ownIds.add(message.external_message_id);
    if (this.isCurrent(message)) this.setAwaitingReply(!this.hasReply);
    // Last in order, if it is sent again.
    this.unsent.delete(message);
    this.unsent.set(message, undefined);
    this.sending = this.sending.then(() => this.sendNow(message));
  }

  /** Whether a message belongs to the current session: the person may have switched to another one. */
  private isCurrent({ session_id }: NewMessage): boolean {
    return session_id === this.session.session_id;
  }

  private async sendNow(message: NewMessage): Promise<void> {
    try {
      const { message_id, created, wasRetried } = await this.post(message);
      this.unsent.delete(message);
      if (message_id !== null) this.ownIds.add(message_id);
      if (created === false && !wasRetried) this.print('The message was registered before; it exists once.');
      if (this.isCurrent(message)) this.follower?.expectReply(message);
      await this.deps.rememberSession({ ...this.session, session_id: message.session_id });
    } catch (error) {
      if (this.isCurrent(message)) this.setAwaitingReply(false);
      this.handleSendError(message, error);
    }
  }

  /** Posts a message; if the service does not know a remembered source, to the one that the agent has now. */
  private async post(message: NewMessage): Promise<SentMessage> {
    const { http, renewSource } = this.deps;
    try {
      return await postMessage(http, message);
    } catch (error) {
      const source_id = error instanceof NotFoundError ? await renewSource() : undefined;
      if (source_id === undefined || source_id === message.source_id) throw error;
      this.session = { ...this.session, source_id };
      return await postMessage(http, { ...message, source_id });
    }
  }

  private handleSendError(message: NewMessage, error: unknown): void {
    if (!(error instanceof PartnerctlError)) {
      this.failure ??= { error };
      return;
    }
    this.unsent.set(message, error);
    if (this.hasLeft || this.deps.interrupt.aborted) return;
    const next = `/resend sends it again (external id ${message.external_message_id}); it is registered once.`;
    const isLost = error instanceof ServiceError || error instanceof ShapeError;
    this.print(`${isLost ? 'Not confirmed' : 'Not sent'}: ${describeError(error)}\n${next}`);
  }

  private setAwaitingReply(isAwaitingReply: boolean): void {
    if (this.isAwaitingReply === isAwaitingReply) return;
    this.isAwaitingReply = isAwaitingReply;
    this.deps.prompt.setLabel(isAwaitingReply ? AWAITING_LABEL : READY_LABEL);
  }

  private async followSession(): Promise<void> {
    const { source_id, session_id } = this.session;
    this.leavingSession = new AbortController();
    this.setAwaitingReply(false);
    this.follower = followSource(
      { ...this.deps, interrupt: this.leavingSession.signal },
      {
        sessions: [{ source_id, session_id, start: { from: 'last', count: EARLIER_MESSAGES } }],
        follow: true,
        renew: this.deps.renewSource,
      },
    );
    try {
      for await (const event of this.follower.events) await this.handleEvent(event);
    } catch (error) {
      this.failure = { error };
      this.deps.prompt.close();
    }
  }

  private async handleEvent(event: FollowEvent): Promise<void> {
    if (event.kind === 'source-changed') {
      this.session = { ...this.session, source_id: event.source_id };
      return;
    }
    if (event.kind !== 'message') {
      if (event.kind === 'outage-started') this.isConnected = false;
      if (event.kind === 'outage-ended') this.isConnected = true;
      if (isNotice(event)) this.print(formatNotice(event));
      return;
    }
    const { message, isBacklog } = event;
    if (message.isReply) {
      this.hasReply = true;
      this.setAwaitingReply(false);
    }
    const isOwn = this.ownIds.has(message.external_message_id ?? '') || this.ownIds.has(message.message_id);
    if (!isOwn || isBacklog) this.deps.prompt.printAbove(await this.deps.formatMessage(message));
    await this.deps.rememberSession(event);
  }
}
